package dev.ringwatch.agent.pull;

import java.util.Locale;

/** The head of an HTTP request: as much of it as decides what is answered. */
final class Request {
    final String method;
    final String path;
    /** What is asked for by {@code ?profile=NAME}, or null. */
    final String profile;
    final boolean keepAlive;
    /** OpenMetrics 1.0 rather than text 0.0.4. */
    final boolean openMetrics;
    final boolean gzip;
    /** What follows the head would have to be read first, and nothing that we answer has any. */
    final boolean hasBody;

    private Request(String method, String path, String profile, boolean keepAlive,
            boolean openMetrics, boolean gzip, boolean hasBody) {
        this.method = method;
        this.path = path;
        this.profile = profile;
        this.keepAlive = keepAlive;
        this.openMetrics = openMetrics;
        this.gzip = gzip;
        this.hasBody = hasBody;
    }

    /** @param head up to its empty line; null is the answer to what is not HTTP/1 */
    static Request parse(String head) {
        String[] lines = head.split("\r\n", -1);
        String[] first = lines[0].split(" ");
        if (first.length != 3 || !first[2].startsWith("HTTP/1.")) {
            return null;
        }
        boolean keep = !first[2].equals("HTTP/1.0");
        boolean body = false;
        StringBuilder accept = new StringBuilder();
        StringBuilder encoding = new StringBuilder();
        for (int i = 1; i < lines.length; i++) {
            int colon = lines[i].indexOf(':');
            if (colon <= 0) {
                return null;
            }
            String value = lines[i].substring(colon + 1).trim().toLowerCase(Locale.ROOT);
            switch (lines[i].substring(0, colon).toLowerCase(Locale.ROOT)) {
                case "accept": accept.append(',').append(value); break;
                case "accept-encoding": encoding.append(',').append(value); break;
                case "connection": keep = value.contains("close") ? false : keep
                        || value.contains("keep-alive"); break;
                case "content-length": body |= !value.equals("0"); break;
                case "transfer-encoding": body = true; break;
                default: break;
            }
        }
        int query = first[1].indexOf('?');
        return new Request(first[0], query < 0 ? first[1] : first[1].substring(0, query),
                profile(query < 0 ? "" : first[1].substring(query + 1)), keep,
                prefersOpenMetrics(accept.toString()), takesGzip(encoding.toString()), body);
    }

    private static String profile(String query) {
        for (String parameter : query.split("&")) {
            if (parameter.startsWith("profile=")) {
                return parameter.substring("profile=".length());
            }
        }
        return null;
    }

    /** Only who names OpenMetrics 1.0 gets it, and only if text is not liked better. */
    private static boolean prefersOpenMetrics(String accept) {
        double open = 0;
        double text = 0;
        for (String range : accept.split(",")) {
            String[] parts = range.split(";", -1);
            String type = parts[0].trim();
            boolean otherVersion = false;
            double quality = 1;
            for (int i = 1; i < parts.length; i++) {
                String parameter = parts[i].trim();
                if (parameter.startsWith("q=")) {
                    quality = quality(parameter);
                } else if (parameter.startsWith("version=")) {
                    otherVersion = !parameter.replace("\"", "").equals("version=1.0.0");
                }
            }
            if (type.equals("application/openmetrics-text") && !otherVersion) {
                open = Math.max(open, quality);
            } else if (type.equals("text/plain") || type.equals("text/*") || type.equals("*/*")) {
                text = Math.max(text, quality);
            }
        }
        return open > 0 && open >= text;
    }

    private static boolean takesGzip(String encodings) {
        double gzip = -1;
        double any = 0;
        for (String coding : encodings.split(",")) {
            String[] parts = coding.split(";", -1);
            double quality = 1;
            for (int i = 1; i < parts.length; i++) {
                quality = parts[i].trim().startsWith("q=") ? quality(parts[i].trim()) : quality;
            }
            if (parts[0].trim().equals("gzip") || parts[0].trim().equals("x-gzip")) {
                gzip = quality;
            } else if (parts[0].trim().equals("*")) {
                any = quality;
            }
        }
        return (gzip < 0 ? any : gzip) > 0;
    }

    private static double quality(String parameter) {
        try {
            double quality = Double.parseDouble(parameter.substring(2));
            return quality >= 0 && quality <= 1 ? quality : 0;
        } catch (NumberFormatException e) {
            return 0;
        }
    }
}
