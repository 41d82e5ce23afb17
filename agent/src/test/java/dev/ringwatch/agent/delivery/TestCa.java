package dev.ringwatch.agent.delivery;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.TrustManagerFactory;

/** A certificate authority made with the JDK's keytool, and what it signs. */
final class TestCa {
    private static final char[] PASSWORD = "changeit".toCharArray();

    private final Path directory;
    private final String name;

    TestCa(Path directory, String name) throws Exception {
        this.directory = directory;
        this.name = name;
        keytool("-genkeypair", "-alias", "it", "-dname", "CN=" + name, "-keyalg", "EC", "-ext",
                "bc:c", "-keystore", store(name), "-validity", "30");
        keytool("-exportcert", "-rfc", "-alias", "it", "-keystore", store(name), "-file",
                certificate(name).toString());
    }

    /** PEM. */
    Path certificate(String of) {
        return directory.resolve(of + ".crt");
    }

    /** PEM, PKCS#8. */
    Path key(String of) {
        return directory.resolve(of + ".key");
    }

    /** Signs a new key pair. */
    TestCa sign(String of, String algorithm, String subjectAlternativeName) throws Exception {
        List<String> san = subjectAlternativeName == null
                ? List.of() : List.of("-ext", "san=" + subjectAlternativeName);
        keytool("-genkeypair", "-alias", "it", "-dname", "CN=" + of, "-keyalg", algorithm,
                "-keystore", store(of), "-validity", "30");
        keytool("-certreq", "-alias", "it", "-keystore", store(of), "-file", store(of) + ".csr");
        List<String> sign = new ArrayList<>(Arrays.asList("-gencert", "-rfc",
                "-alias", "it", "-keystore", store(name), "-validity", "30",
                "-infile", store(of) + ".csr", "-outfile", certificate(of).toString()));
        sign.addAll(san);
        keytool(sign.toArray(new String[0]));
        KeyStore keys = load(of);
        Files.writeString(key(of), "-----BEGIN PRIVATE KEY-----\n"
                + Base64.getMimeEncoder(64, new byte[] {'\n'})
                        .encodeToString(keys.getKey("it", PASSWORD).getEncoded())
                + "\n-----END PRIVATE KEY-----\n");
        return this;
    }

    /**
     * A server with that certificate that wants one signed by {@code trusted}, if that is not null.
     */
    ServerSocket serve(String as, TestCa trusted) throws Exception {
        KeyStore keys = KeyStore.getInstance("PKCS12");
        keys.load(null, null);
        keys.setKeyEntry("it", load(as).getKey("it", PASSWORD), PASSWORD,
                Pem.certificates(certificate(as)).toArray(new java.security.cert.Certificate[0]));
        KeyManagerFactory identity =
                KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        identity.init(keys, PASSWORD);
        TrustManagerFactory trust =
                TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        if (trusted != null) {
            KeyStore trusts = KeyStore.getInstance("PKCS12");
            trusts.load(null, null);
            trusts.setCertificateEntry("ca",
                    Pem.certificates(trusted.certificate(trusted.name)).get(0));
            trust.init(trusts);
        }
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(identity.getKeyManagers(),
                trusted == null ? null : trust.getTrustManagers(), null);
        SSLServerSocket socket = (SSLServerSocket) context.getServerSocketFactory()
                .createServerSocket(0, 50, InetAddress.getLoopbackAddress());
        socket.setNeedClientAuth(trusted != null);
        return socket;
    }

    private String store(String of) {
        return directory.resolve(of + ".p12").toString();
    }

    private KeyStore load(String of) throws Exception {
        KeyStore store = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(Path.of(store(of)))) {
            store.load(in, PASSWORD);
        }
        return store;
    }

    private static void keytool(String... arguments) throws Exception {
        List<String> command = new ArrayList<>(Arrays.asList(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC"));
        command.addAll(Arrays.asList(arguments));
        command.addAll(Arrays.asList("-storepass", new String(PASSWORD), "-storetype", "PKCS12"));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes());
        if (process.waitFor() != 0) {
            throw new IOException(command + ": " + said);
        }
    }
}
