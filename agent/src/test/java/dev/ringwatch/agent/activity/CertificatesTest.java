package dev.ringwatch.agent.activity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.ringwatch.agent.filter.Filters;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.cassandra.config.EncryptionOptions;
import org.apache.cassandra.config.EncryptionOptions.ServerEncryptionOptions;
import org.apache.cassandra.config.EncryptionOptions.ServerEncryptionOptions.InternodeEncryption;
import org.apache.cassandra.config.ParameterizedClass;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Keystores that the JDK's keytool has made, and Cassandra's own options that name them. */
class CertificatesTest {
    private static final String PASSWORD = "changeit";

    @TempDir
    private static Path directory;
    /** Has a key for each number of days. */
    private static KeyStore made;
    private static String pkcs12;

    private final List<String> said = new ArrayList<>();
    private final Certificates certificates = new Certificates(said::add);
    private final ModelUnderTest under = new ModelUnderTest();
    private final Certificates.Uses uses = new Certificates.Uses(under.model, Filters.NONE);

    @BeforeAll
    static void make() throws Exception {
        pkcs12 = directory.resolve("made.p12").toString();
        for (String days : new String[] {"30", "20", "10"}) {
            Process process = new ProcessBuilder(
                    Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                    "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-genkeypair", "-alias",
                    days, "-dname", "CN=" + days, "-keyalg", "EC", "-validity", days, "-keystore",
                    pkcs12, "-storetype", "PKCS12", "-storepass", PASSWORD)
                    .redirectErrorStream(true).start();
            String out = new String(process.getInputStream().readAllBytes());
            assertEquals(0, process.waitFor(), out);
        }
        made = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(Path.of(pkcs12))) {
            made.load(in, PASSWORD.toCharArray());
        }
    }

    private static Certificate certificate(String days) throws Exception {
        return made.getCertificate(days);
    }

    private static long end(String days) throws Exception {
        return ((X509Certificate) certificate(days)).getNotAfter().getTime() / 1000;
    }

    /** A file of JKS with a key of that chain, and a certificate that it trusts. */
    private static String jks(String name, String trusts, String... chain) throws Exception {
        KeyStore store = KeyStore.getInstance("JKS");
        store.load(null, null);
        Certificate[] all = new Certificate[chain.length];
        for (int i = 0; i < chain.length; i++) {
            all[i] = certificate(chain[i]);
        }
        if (chain.length > 0) {
            char[] password = PASSWORD.toCharArray();
            store.setKeyEntry("key", made.getKey(chain[0], password), password, all);
        }
        store.setCertificateEntry("trusted", certificate(trusts));
        Path file = directory.resolve(name);
        try (OutputStream out = Files.newOutputStream(file)) {
            store.store(out, PASSWORD.toCharArray());
        }
        return file.toString();
    }

    private static String pem(String... days) throws Exception {
        StringBuilder text = new StringBuilder("Bag Attributes\n-----BEGIN PRIVATE KEY-----\nAAAA\n"
                + "-----END PRIVATE KEY-----\n");
        for (String each : days) {
            text.append("-----BEGIN CERTIFICATE-----\n")
                    .append(Base64.getMimeEncoder(64, new byte[] {'\n'})
                            .encodeToString(certificate(each).getEncoded()))
                    .append("\n-----END CERTIFICATE-----\n");
        }
        return text.toString();
    }

    private static String write(String name, String text) throws IOException {
        return Files.writeString(directory.resolve(name), text).toString();
    }

    private static Keystore in(String file, String type) {
        return Keystore.in(file, type, PASSWORD, null);
    }

    @Test
    void theFirstToEndOfAllKeysCounts() throws Exception {
        assertEquals(end("10"), in(pkcs12, "PKCS12").expiry());
        // as Cassandra's store_type is by default
        assertEquals(end("10"), in(pkcs12, "JKS").expiry());
    }

    @Test
    void itsAuthoritiesCountAndWhatItTrustsDoesNot() throws Exception {
        assertEquals(end("30"), in(jks("one.jks", "10", "30"), "JKS").expiry());
        assertEquals(end("20"), in(jks("chain.jks", "10", "30", "20"), "JKS").expiry());
    }

    @Test
    void pemIsReadWhateverTheTypeIsCalled() throws Exception {
        assertEquals(end("20"), in(write("node.pem", pem("30", "20")), "JKS").expiry());
        assertEquals(end("30"), Keystore.of(pem("30")).expiry());
    }

    @Test
    void thePasswordMayBeInAFile() throws Exception {
        String file = write("password", PASSWORD + "\nsomething else\n");
        assertEquals(end("10"), Keystore.in(pkcs12, "PKCS12", null, file).expiry());
    }

    @Test
    void whatCannotBeReadIsLeftOutAndToldOnce() throws Exception {
        Path large = directory.resolve("large");
        Files.write(large, new byte[(1 << 20) + 1]);
        Keystore good = in(jks("good.jks", "10", "30"), "JKS");
        Stream<Keystore> bad = Stream.of(Keystore.in(pkcs12, "PKCS12", "wrong", null),
                Keystore.in(jks("other.jks", "10", "30"), "JKS", "wrong", null),
                Keystore.in(pkcs12, "PKCS12", null, directory.resolve("none").toString()),
                in(directory.resolve("none").toString(), "JKS"), in(directory.toString(), "JKS"),
                in(large.toString(), "JKS"), in(pkcs12, "no such type"), in(pkcs12, ""),
                in(write("empty", ""), "JKS"), in(write("noise", "noise"), "PKCS12"),
                in(write("cut.pem", pem("30").substring(0, 200)), "JKS"),
                in(write("broken.pem", pem("30").replace("MII", "AAA")), "JKS"),
                in(jks("trusts.jks", "10"), "JKS"), in("\0", "JKS"), Keystore.of(""));
        bad.forEach(keystore -> {
            said.clear();
            Certificates each = new Certificates(said::add);
            for (int hour = 0; hour < 3; hour++) {
                assertEquals(Map.of(),
                        each.read(Map.of("client", List.of(good, keystore))), said.toString());
            }
            assertEquals(1, said.size(), said.toString());
            assertEquals(3, each.errors());
            assertFalse(said.get(0).contains("null") || said.get(0).contains(PASSWORD)
                    || said.get(0).contains("wrong"), said.get(0));
        });
    }

    @Test
    void theModelHasWhatCanBeRead() throws Exception {
        Keystore good = in(pkcs12, "PKCS12");
        Keystore none = in(directory.resolve("none").toString(), "JKS");
        Keystore later = in(jks("later.jks", "10", "20"), "JKS");
        String name = "cassandra_certificate_expiry_timestamp_seconds|";
        String first = Long.toString(end("10"));
        uses.show(certificates.read(Map.of()));
        assertEquals(Map.of(), under.values());
        uses.show(certificates.read(Map.of("client", List.of(later, good), "internode",
                List.of(later))));
        assertEquals(Map.of(name + "client", first, name + "internode",
                Long.toString(end("20"))), under.values());
        uses.show(certificates.read(Map.of("client", List.of(none), "internode", List.of(good))));
        assertEquals(Map.of(name + "internode", first), under.values());
        uses.show(certificates.read(Map.of("client", List.of(good))));
        assertEquals(Map.of(name + "client", first), under.values());
        assertEquals(1, said.size(), said.toString());
    }

    @Test
    void onlyWhatIsEncryptedIsRead() throws Exception {
        ServerEncryptionOptions internode = new ServerEncryptionOptions().withKeyStore(pkcs12)
                .withKeyStorePassword(PASSWORD);
        EncryptionOptions client = new EncryptionOptions().withKeyStore(pkcs12)
                .withKeyStorePassword(PASSWORD);
        assertEquals(Map.of(), Encryption.keystores(
                internode.withInternodeEncryption(InternodeEncryption.none),
                client.withEnabled(false)));
        for (InternodeEncryption some : InternodeEncryption.values()) {
            if (some != InternodeEncryption.none) {
                assertEquals(Map.of("internode", end("10")), certificates.read(
                        Encryption.keystores(internode.withInternodeEncryption(some),
                                client.withEnabled(false))));
            }
        }
        assertEquals(Map.of("client", end("10")), certificates.read(Encryption.keystores(
                internode.withInternodeEncryption(InternodeEncryption.none),
                client.withEnabled(true))));
        assertEquals(Map.of("internode", end("10")), certificates.read(Encryption.keystores(
                internode.withKeyStore(jks("in.jks", "10", "30")).withOutboundKeystore(pkcs12)
                        .withOutboundKeystorePassword(PASSWORD)
                        .withInternodeEncryption(InternodeEncryption.all),
                client.withEnabled(false))));
        assertTrue(said.isEmpty(), said.toString());
    }

    /** What another version has of these fields, or a factory of the operator's own. */
    public static class Options {
        public final String keystore = pkcs12;
        public final String store_type = "JKS";
        public String keystore_password = PASSWORD;
    }

    /** 4.0's. */
    public static final class Old extends Options {
        public Boolean isEnabled() {
            return true;
        }
    }

    /** From 4.1 on; files of passwords came with 6.0. */
    public static final class New extends Options {
        public ParameterizedClass ssl_context_factory;
        public String keystore_password_file;

        public Boolean getEnabled() {
            return true;
        }
    }

    private Map<String, Long> read(Options client) throws Exception {
        return certificates.read(Encryption.keystores(
                new ServerEncryptionOptions().withInternodeEncryption(InternodeEncryption.none),
                client));
    }

    @Test
    void eachVersionsOptionsAreUnderstood() throws Exception {
        Map<String, Long> tenDays = Map.of("client", end("10"));
        assertEquals(tenDays, read(new Old()));
        New options = new New();
        assertEquals(tenDays, read(options));
        options.keystore_password = null;
        options.keystore_password_file = write("file", PASSWORD);
        for (String name : new String[] {"DefaultSslContextFactory",
            "org.apache.cassandra.security.DefaultSslContextFactory"}) {
            options.ssl_context_factory = new ParameterizedClass(name);
            assertEquals(tenDays, read(options));
        }
        for (String name : Arrays.asList("com.example.DefaultSslContextFactory", "", null,
                "DisableSslContextFactory")) {
            options.ssl_context_factory = new ParameterizedClass(name);
            assertEquals(Map.of(), read(options));
        }
        options.ssl_context_factory = new ParameterizedClass("PEMBasedSslContextFactory",
                Map.of("private_key", pem("30")));
        assertEquals(Map.of("client", end("30")), read(options));
        assertTrue(said.isEmpty(), said.toString());
    }
}
