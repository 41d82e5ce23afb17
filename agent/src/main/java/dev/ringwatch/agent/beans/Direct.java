package dev.ringwatch.agent.beans;

/** A bean's attributes from the object behind the bean, without the MBean server. */
public interface Direct {
    /** What the bean would answer for an attribute that it has. */
    Object get(String attribute) throws Exception;
}
