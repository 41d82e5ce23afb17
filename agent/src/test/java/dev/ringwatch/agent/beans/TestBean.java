package dev.ringwatch.agent.beans;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;
import javax.management.Attribute;
import javax.management.AttributeList;
import javax.management.AttributeNotFoundException;
import javax.management.DynamicMBean;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanException;
import javax.management.MBeanInfo;

/** A bean of whatever attributes a test wants. */
final class TestBean implements DynamicMBean {
    private final Map<String, Supplier<Object>> values = new LinkedHashMap<>();
    private final Map<String, String> types = new LinkedHashMap<>();
    int reads;

    TestBean with(String attribute, String type, Supplier<Object> value) {
        values.put(attribute, value);
        types.put(attribute, type);
        return this;
    }

    TestBean with(String attribute, Object value) {
        return with(attribute, value.getClass().getName(), () -> value);
    }

    @Override
    public Object getAttribute(String attribute) throws AttributeNotFoundException, MBeanException {
        reads++;
        if (!values.containsKey(attribute)) {
            throw new AttributeNotFoundException(attribute);
        }
        return values.get(attribute).get();
    }

    @Override
    public AttributeList getAttributes(String[] names) {
        AttributeList list = new AttributeList();
        for (String name : names) {
            try {
                list.add(new Attribute(name, getAttribute(name)));
            } catch (AttributeNotFoundException | MBeanException | RuntimeException without) {
                continue;
            }
        }
        return list;
    }

    @Override
    public MBeanInfo getMBeanInfo() {
        MBeanAttributeInfo[] infos = types.entrySet().stream()
                .map(e -> new MBeanAttributeInfo(e.getKey(),
                        e.getValue(), "What " + e.getKey() + " is", true, false, false))
                .toArray(MBeanAttributeInfo[]::new);
        return new MBeanInfo(TestBean.class.getName(), "", infos, null, null, null);
    }

    @Override
    public void setAttribute(Attribute attribute) {
        throw new UnsupportedOperationException();
    }

    @Override
    public AttributeList setAttributes(AttributeList attributes) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Object invoke(String action, Object[] parameters, String[] signature) {
        throw new UnsupportedOperationException();
    }
}
