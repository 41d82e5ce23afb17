package dev.ringwatch.agent.delivery;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/**
 * Certificates and private keys as files of text (RFC 7468): blocks between lines of dashes,
 * whatever stands around them.
 */
public final class Pem {
    private static final int MAX_BYTES = 4 << 20;
    private static final String[] ALGORITHMS = {"EC", "RSA", "EdDSA", "DSA"};

    private Pem() {}

    static List<X509Certificate> certificates(Path file) throws IOException {
        return certificates(file.toString(), text(file));
    }

    /**
     * All certificates in a text, at least one.
     *
     * @param file what the text is of, for people
     */
    public static List<X509Certificate> certificates(String file, String text) throws IOException {
        List<X509Certificate> certificates = new ArrayList<>();
        try {
            CertificateFactory factory = CertificateFactory.getInstance("X.509");
            for (byte[] der : blocks(file, text, "CERTIFICATE")) {
                certificates.add((X509Certificate) factory.generateCertificate(
                        new ByteArrayInputStream(der)));
            }
        } catch (GeneralSecurityException e) {
            throw new IOException(file + " holds a broken certificate: " + e.getMessage(), e);
        }
        if (certificates.isEmpty()) {
            throw new IOException(file + " holds no certificate: it needs a block BEGIN "
                    + "CERTIFICATE");
        }
        return certificates;
    }

    static PrivateKey key(Path file) throws IOException {
        String text = text(file);
        List<byte[]> blocks = blocks(file.toString(), text, "PRIVATE KEY");
        if (blocks.size() != 1) {
            throw new IOException(file + (text.contains("PRIVATE KEY-----") && blocks.isEmpty()
                    ? " holds a private key in another form:"
                            + " convert it with \"openssl pkcs8 -topk8 -nocrypt\""
                    : " needs exactly one block BEGIN PRIVATE KEY"));
        }
        for (String algorithm : ALGORITHMS) { // the bytes name it, but only KeyFactory reads them
            try {
                return KeyFactory.getInstance(algorithm)
                        .generatePrivate(new PKCS8EncodedKeySpec(blocks.get(0)));
            } catch (GeneralSecurityException another) {
                continue;
            }
        }
        throw new IOException(file + " holds a key of another kind: make an RSA, EC or Ed25519 "
                + "key");
    }

    private static String text(Path file) throws IOException {
        if (Files.size(file) > MAX_BYTES) {
            throw new IOException(file + " is larger than " + MAX_BYTES + " bytes: name a PEM "
                    + "file");
        }
        return new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1);
    }

    private static List<byte[]> blocks(String file, String text, String label) throws IOException {
        String begin = "-----BEGIN " + label + "-----";
        String end = "-----END " + label + "-----";
        List<byte[]> blocks = new ArrayList<>();
        for (int from = text.indexOf(begin); from >= 0; from = text.indexOf(begin, from)) {
            int to = text.indexOf(end, from);
            if (to < 0) {
                throw new IOException(file + ": a block " + label + " does not end: copy the "
                        + "whole file");
            }
            try {
                blocks.add(Base64.getMimeDecoder()
                        .decode(text.substring(from + begin.length(), to)));
            } catch (IllegalArgumentException e) {
                throw new IOException(file + ": a block " + label + " is not base64: copy the "
                        + "file again", e);
            }
            from = to;
        }
        return blocks;
    }
}
