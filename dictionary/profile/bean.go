package profile

import (
	"path"
	"slices"
	"strings"
)

// property is one of a bean's name.
type property struct{ key, value string }

// bean is the name of a bean, its properties in the order in which they stand there.
type bean struct {
	domain     string
	properties []property
}

// newBean reads domain:key=value,key=value. No value has a comma.
func newBean(name string) bean {
	domain, list, _ := strings.Cut(name, ":")
	b := bean{domain: domain}
	for _, p := range strings.Split(list, ",") {
		key, value, _ := strings.Cut(p, "=")
		b.properties = append(b.properties, property{key, value})
	}
	return b
}

func (b *bean) property(key string) string {
	for _, p := range b.properties {
		if p.key == key {
			return p.value
		}
	}
	return ""
}

// attribute is one number of a bean: its name, and before it the way to it if the attribute is
// made of several.
type attribute struct {
	path []string
	name string
}

// newAttribute reads HeapMemoryUsage.used.
func newAttribute(s string) attribute {
	parts := strings.Split(s, ".")
	return attribute{parts[:len(parts)-1], parts[len(parts)-1]}
}

// exporterText is what a JMX exporter's patterns see of an attribute, apart from its value.
func (b *bean) exporterText(a attribute) string {
	var s strings.Builder
	s.WriteString(b.domain + "<")
	for i, p := range b.properties {
		if i > 0 {
			s.WriteString(", ")
		}
		s.WriteString(p.key + "=" + p.value)
	}
	s.WriteString("><" + strings.Join(a.path, ", ") + ">" + a.name + ": ")
	return s.String()
}

// objectName is a pattern of beans' names: * and ? in the domain and in values; as a property of
// its own, * stands for any others.
type objectName struct {
	domain string
	need   []property
	open   bool
}

func newObjectName(name string) objectName {
	domain, list, _ := strings.Cut(name, ":")
	o := objectName{domain: domain}
	for _, p := range strings.Split(list, ",") {
		if p == "*" {
			o.open = true
			continue
		}
		key, value, _ := strings.Cut(p, "=")
		o.need = append(o.need, property{key, value})
	}
	return o
}

// applies reports whether the pattern matches a bean. Where that hangs on a value that is not known
// yet, it returns what each of them must be.
func (o *objectName) applies(b *bean) (only map[int]string, ok bool) {
	if !matchesWildcard(o.domain, b.domain) || !o.open && len(o.need) != len(b.properties) {
		return nil, false
	}
	for _, p := range o.need {
		i := slices.IndexFunc(b.properties, func(of property) bool { return of.key == p.key })
		if i < 0 {
			return nil, false
		}
		if matchesWildcard(p.value, b.properties[i].value) {
			continue
		}
		t := newText(b.properties[i].value)
		if len(t.parts) != 2 || t.parts[0].plain != "" || t.parts[1].plain != "" ||
			strings.ContainsAny(p.value, "*?") {
			return nil, false
		}
		if only == nil {
			only = map[int]string{}
		}
		only[t.parts[0].label] = p.value
	}
	return only, true
}

// matchesWildcard reports whether a text matches a pattern of * and ?.
func matchesWildcard(pattern, s string) bool {
	ok, err := path.Match(pattern, strings.ReplaceAll(s, "/", "_"))
	return err == nil && ok
}
