package dev.ringwatch.agent.delivery;

import java.io.IOException;
import java.net.Socket;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.cert.X509Certificate;
import java.util.List;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;

/**
 * TLS with the JVM's own trust or a private CA, with or without a client certificate. The files are
 * read when the first connection is made and again whenever one of them has changed; new ones that
 * do not work leave the old ones in use. The name in the server's certificate is always checked.
 */
public final class Tls {
    /** Looking at three files costs some microseconds; a rotation can wait that long. */
    private static final long LOOK_AGAIN_NS = 10_000_000_000L;

    private final Path ca;
    private final Path certificate;
    private final Path key;
    private final WatchedFiles watched;
    private final long lookAgainNs;
    private SSLSocketFactory factory;
    private boolean looked;
    private long lookedAt;
    private String problem;

    /** Each file may be null; a certificate needs its key. */
    public Tls(Path ca, Path certificate, Path key) {
        this(ca, certificate, key, LOOK_AGAIN_NS);
    }

    Tls(Path ca, Path certificate, Path key, long lookAgainNs) {
        this.ca = ca;
        this.certificate = certificate;
        this.key = key;
        this.watched = new WatchedFiles(ca, certificate, key);
        this.lookAgainNs = lookAgainNs;
    }

    /**
     * Reads changed files, not oftener than now and then; true if connections should be made anew.
     */
    boolean reload() throws IOException {
        long now = System.nanoTime();
        if (looked && now - lookedAt < lookAgainNs && factory != null) {
            return false;
        }
        looked = true;
        lookedAt = now;
        try {
            if (!watched.changed() && factory != null) {
                return false;
            }
            factory = load();
            problem = null;
            return true;
        } catch (IOException | GeneralSecurityException | RuntimeException e) {
            watched.forget();
            problem = e.getMessage() == null ? e.toString()
                    : e instanceof java.nio.file.NoSuchFileException
                    ? e.getMessage() + " is missing" : e.getMessage();
            if (factory == null) {
                throw new Unreadable(problem, e);
            }
            return false;
        }
    }

    /** Why the files there are now are not in use, or null. */
    String problem() {
        return problem;
    }

    /** TLS over a connected socket; the handshake has been made. */
    SSLSocket over(Socket plain, String host, int port) throws IOException {
        SSLSocket socket = (SSLSocket) factory.createSocket(plain, host, port, true);
        SSLParameters parameters = socket.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        socket.setSSLParameters(parameters);
        socket.startHandshake();
        return socket;
    }

    private SSLSocketFactory load() throws IOException, GeneralSecurityException {
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(certificate == null ? null : identity(), ca == null ? null : trust(), null);
        return context.getSocketFactory();
    }

    private TrustManager[] trust() throws IOException, GeneralSecurityException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        List<X509Certificate> certificates = Pem.certificates(ca);
        for (int i = 0; i < certificates.size(); i++) {
            store.setCertificateEntry("ca" + i, certificates.get(i));
        }
        TrustManagerFactory managers =
                TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        managers.init(store);
        return managers.getTrustManagers();
    }

    private KeyManager[] identity() throws IOException, GeneralSecurityException {
        X509Certificate[] chain = Pem.certificates(certificate).toArray(new X509Certificate[0]);
        PrivateKey secret = Pem.key(key);
        if (!belong(secret, chain[0])) { // one of two files has been replaced so far
            throw new IOException(key + " is not the key of the certificate in " + certificate);
        }
        char[] password = new char[0]; // the store never leaves memory
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        store.setKeyEntry("agent", secret, password, chain);
        KeyManagerFactory managers =
                KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        managers.init(store, password);
        return managers.getKeyManagers();
    }

    private static boolean belong(PrivateKey secret, X509Certificate certificate)
            throws GeneralSecurityException {
        String algorithm = secret.getAlgorithm();
        if (!algorithm.equals(certificate.getPublicKey().getAlgorithm())) {
            return false;
        }
        Signature signature = Signature.getInstance(algorithm.equals("EC") ? "SHA256withECDSA"
                : algorithm.equals("RSA") || algorithm.equals("DSA")
                ? "SHA256with" + algorithm : algorithm);
        byte[] anything = {1, 2, 3};
        signature.initSign(secret);
        signature.update(anything);
        byte[] signed = signature.sign();
        signature.initVerify(certificate.getPublicKey());
        signature.update(anything);
        return signature.verify(signed);
    }
}
