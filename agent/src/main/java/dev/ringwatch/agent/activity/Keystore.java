package dev.ringwatch.agent.activity;

import dev.ringwatch.agent.delivery.Pem;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** A keystore as Cassandra is configured with it: a file of Java's, or PEM. */
final class Keystore {
    /** One of a key and its chain has some kilobytes. */
    private static final int MAX_BYTES = 1 << 20;
    private static final String PEM = "-----BEGIN CERTIFICATE-----";

    /** For people. */
    private final String name;
    private final String file;
    private final String type;
    private final String password;
    private final String passwordFile;
    private final String pem;

    private Keystore(String name, String file, String type, String password, String passwordFile,
            String pem) {
        this.name = name;
        this.file = file;
        this.type = type;
        this.password = password;
        this.passwordFile = passwordFile;
        this.pem = pem;
    }

    /**
     * @param type of Java's, such as JKS; a file of PEM is known by what is in it
     * @param password null for none
     * @param passwordFile whose first line is the password if {@code password} is null, or null
     */
    static Keystore in(String file, String type, String password, String passwordFile) {
        return new Keystore(file, file, type, password, passwordFile, null);
    }

    /** @param pem that stands in the configuration itself */
    static Keystore of(String pem) {
        return new Keystore("the private_key of ssl_context_factory", null, null, null, null, pem);
    }

    /** Seconds since 1970 when the first certificate ends of what its keys show. */
    long expiry() throws IOException, GeneralSecurityException {
        long first = Long.MAX_VALUE;
        for (Certificate certificate : certificates()) {
            if (certificate instanceof X509Certificate) {
                first = Math.min(first,
                        ((X509Certificate) certificate).getNotAfter().getTime() / 1000);
            }
        }
        if (first == Long.MAX_VALUE) {
            throw new IOException(name + " has no key with a certificate");
        }
        return first;
    }

    private List<? extends Certificate> certificates()
            throws IOException, GeneralSecurityException {
        if (pem != null) {
            return Pem.certificates(name, pem);
        }
        byte[] bytes = read(Paths.get(file));
        String text = new String(bytes, StandardCharsets.ISO_8859_1);
        return text.contains(PEM) ? Pem.certificates(name, text) : ofKeys(bytes);
    }

    private List<Certificate> ofKeys(byte[] bytes) throws IOException, GeneralSecurityException {
        KeyStore store = KeyStore.getInstance(type);
        String secret = password;
        if (secret == null && passwordFile != null) {
            secret = new String(read(Paths.get(passwordFile)), StandardCharsets.UTF_8)
                    .split("\\R", 2)[0];
        }
        try {
            store.load(new ByteArrayInputStream(bytes),
                    secret == null ? null : secret.toCharArray());
        } catch (IOException e) {
            throw new IOException(name + " cannot be opened: " + reason(e), e);
        }
        List<Certificate> all = new ArrayList<>();
        for (String alias : Collections.list(store.aliases())) {
            Certificate[] chain = store.getCertificateChain(alias); // keys alone have one
            all.addAll(chain == null ? List.of() : Arrays.asList(chain));
        }
        return all;
    }

    /** Why something failed, for people. */
    static String reason(Exception e) {
        return e.getMessage() == null ? e.toString() : e.getMessage();
    }

    private static byte[] read(Path path) throws IOException {
        if (!Files.isRegularFile(path)) { // a pipe would be waited for
            throw new IOException(path + " is not there");
        }
        try (InputStream in = Files.newInputStream(path)) {
            byte[] bytes = in.readNBytes(MAX_BYTES + 1);
            if (bytes.length > MAX_BYTES) {
                throw new IOException(path + " is larger than " + MAX_BYTES + " bytes");
            }
            return bytes;
        } catch (FileSystemException e) {
            throw new IOException(path + " cannot be read: " + e.getClass().getSimpleName(), e);
        }
    }
}
