package dev.ringwatch.agent.delivery;

import java.io.IOException;

/** A file that a request needs cannot be used; the message names it. It may be there later. */
final class Unreadable extends IOException {
    private static final long serialVersionUID = 1;

    Unreadable(String message, Throwable cause) {
        super(message, cause);
    }
}
