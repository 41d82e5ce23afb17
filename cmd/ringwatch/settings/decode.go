package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/prometheus/common/model"
)

// Decode fills the struct that into points at from one YAML document and returns every error
// at once, each with its line. Keys are field names in snake_case, an unknown key is an error,
// durations are Prometheus's (5s, 15m, 14d), numbers of bytes may say KiB, MiB or GiB, and
// ${NAME} in a value stands for an environment variable. Fields that the text does not name keep
// their value, so into holds the defaults.
//
// Unset names the document's own keys below which a variable is not set. What is checked of those
// would only repeat the error in other words.
func Decode(text []byte, into any) (unset map[string]bool, err error) {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, fmt.Errorf("the file is not YAML: %s",
			firstLine(yaml.FormatError(err, false, false)))
	}
	d := decoder{unset: map[string]bool{}}
	for _, doc := range file.Docs {
		if doc.Body != nil {
			d.value(doc.Body, reflect.ValueOf(into).Elem(), "")
		}
	}
	return d.unset, errors.Join(d.errs...)
}

type decoder struct {
	errs  []error
	unset map[string]bool // by key of the document itself
}

func (d *decoder) fail(n ast.Node, path, format string, args ...any) {
	d.errs = append(d.errs, fmt.Errorf("line %d: %s: %s", n.GetToken().Position.Line, path,
		fmt.Sprintf(format, args...)))
}

func (d *decoder) value(n ast.Node, v reflect.Value, path string) {
	switch {
	case n.Type() == ast.NullType:
		return // an empty section keeps its defaults
	case ownYAML(v) != nil:
		d.own(n, ownYAML(v), path)
	case v.Type() == reflect.TypeFor[time.Duration]():
		d.duration(n, v, path)
	case v.Type() == reflect.TypeFor[time.Time]():
		d.instant(n, v, path)
	case v.Kind() == reflect.Struct:
		d.mapping(n, v, path)
	case v.Kind() == reflect.Map:
		d.dictionary(n, v, path)
	case v.Kind() == reflect.Slice:
		list, ok := n.(*ast.SequenceNode)
		if !ok {
			d.fail(n, path, "expected a list")
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), len(list.Values), len(list.Values)))
		for i, item := range list.Values {
			d.value(item, v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	default:
		d.scalar(n, v, path)
	}
}

// pairs returns the entries of a mapping; goccy has a node of its own for a mapping of one entry.
func pairs(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch m := n.(type) {
	case *ast.MappingNode:
		return m.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{m}, true
	}
	return nil, false
}

func (d *decoder) mapping(n ast.Node, v reflect.Value, path string) {
	entries, ok := pairs(n)
	fields := settable(v)
	switched := switchedOn(v)
	switch {
	case !ok && switched != nil:
		d.fail(n, path, "expected keys and values: write {} to switch it on, with some of %s as "+
			"you need them", keyList(fields))
		return
	case !ok:
		d.fail(n, path, "expected keys and values")
		return
	case switched != nil:
		switched.Present()
	}
	for _, e := range entries {
		key := e.Key.GetToken().Value
		at := strings.TrimPrefix(path+"."+key, ".")
		field, known := fields[key]
		if !known {
			if instead := gone[at]; instead != "" {
				d.fail(e, at, "unknown key: it is gone: %s", instead)
			} else {
				d.fail(e, at, "unknown key: use one of %s", keyList(fields))
			}
			continue
		}
		d.value(e.Value, field, at)
	}
}

// gone are keys that there were, and what to write instead.
var gone = map[string]string{
	"data.stream_max_bytes": "data.max_bytes bounds frames and rows together",
}

// keyList names the keys of a section.
func keyList(fields map[string]reflect.Value) string {
	return strings.Join(slices.Sorted(maps.Keys(fields)), ", ")
}

// present is a section that is switched on by standing in the file.
type present interface{ Present() }

// switchedOn returns the value if it is such a section.
func switchedOn(v reflect.Value) present {
	if !v.CanAddr() {
		return nil
	}
	section, _ := v.Addr().Interface().(present)
	return section
}

func (d *decoder) dictionary(n ast.Node, v reflect.Value, path string) {
	entries, ok := pairs(n)
	if !ok {
		d.fail(n, path, "expected keys and values")
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, e := range entries {
		item := reflect.New(v.Type().Elem()).Elem()
		key := e.Key.GetToken().Value
		d.value(e.Value, item, path+"."+key)
		v.SetMapIndex(reflect.ValueOf(key), item)
	}
}

// ownYAML returns the value if it reads its YAML itself: one in a form of others, Prometheus's say.
func ownYAML(v reflect.Value) yaml.BytesUnmarshaler {
	if !v.CanAddr() {
		return nil
	}
	own, _ := v.Addr().Interface().(yaml.BytesUnmarshaler)
	return own
}

func (d *decoder) own(n ast.Node, v yaml.BytesUnmarshaler, path string) {
	text, ok := d.flow(n, path)
	if !ok {
		return
	}
	if err := v.UnmarshalYAML([]byte(text)); err != nil {
		d.fail(n, path, "%s", err)
	}
}

// flow writes a node as YAML in one line, with the variables' values in their places as text, so
// that no variable can change the structure.
func (d *decoder) flow(n ast.Node, path string) (string, bool) {
	var parts []string
	if entries, ok := pairs(n); ok {
		for _, e := range entries {
			key := e.Key.GetToken().Value
			text, ok := d.flow(e.Value, path+"."+key)
			if !ok {
				return "", false
			}
			parts = append(parts, strconv.Quote(key)+": "+text)
		}
		return "{" + strings.Join(parts, ", ") + "}", true
	}
	if list, ok := n.(*ast.SequenceNode); ok {
		for i, item := range list.Values {
			text, ok := d.flow(item, fmt.Sprintf("%s[%d]", path, i))
			if !ok {
				return "", false
			}
			parts = append(parts, text)
		}
		return "[" + strings.Join(parts, ", ") + "]", true
	}
	text, ok := d.text(n, path)
	switch n.Type() {
	case ast.StringType, ast.LiteralType:
		quoted, err := json.Marshal(text) // which is YAML, too
		return string(quoted), ok && err == nil
	}
	return text, ok
}

func (d *decoder) text(n ast.Node, path string) (string, bool) {
	if _, ok := n.(ast.ScalarNode); !ok {
		d.fail(n, path, "expected one value")
		return "", false
	}
	text := n.GetToken().Value
	if s, ok := n.(*ast.LiteralNode); ok {
		text = s.Value.GetToken().Value
	}
	expanded, err := expand(text)
	if err != nil {
		section, _, _ := strings.Cut(path, ".")
		section, _, _ = strings.Cut(section, "[")
		d.unset[section] = true
		d.fail(n, path, "%v", err)
		return "", false
	}
	return expanded, true
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// expand replaces ${NAME} in a value, after the YAML was read, so that no variable can change its
// structure.
func expand(text string) (string, error) {
	var missing error
	out := variable.ReplaceAllStringFunc(text, func(m string) string {
		name := variable.FindStringSubmatch(m)[1]
		v, ok := os.LookupEnv(name)
		if !ok {
			missing = fmt.Errorf("the environment variable %s is not set", name)
		}
		return v
	})
	return out, missing
}

func (d *decoder) duration(n ast.Node, v reflect.Value, path string) {
	text, ok := d.text(n, path)
	if !ok {
		return
	}
	p, err := model.ParseDuration(text)
	if err != nil {
		d.fail(n, path, "%q is not a duration: write it as 500ms, 5s, 15m or 14d", text)
		return
	}
	v.SetInt(int64(p))
}

func (d *decoder) instant(n ast.Node, v reflect.Value, path string) {
	text, ok := d.text(n, path)
	if !ok {
		return
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			v.Set(reflect.ValueOf(at))
			return
		}
	}
	d.fail(n, path, "%q is not a time: write it as 2027-01-31 or 2027-01-31T12:00:00Z", text)
}

var byteUnits = map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

func (d *decoder) scalar(n ast.Node, v reflect.Value, path string) {
	text, ok := d.text(n, path)
	if !ok {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			d.fail(n, path, "%q is neither true nor false", text)
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		digits, factor := text, int64(1)
		for unit, f := range byteUnits {
			if s, ok := strings.CutSuffix(text, unit); ok {
				digits, factor = strings.TrimSpace(s), f
			}
		}
		i, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || i*factor/factor != i || v.CanInt() && v.OverflowInt(i*factor) ||
			v.CanUint() && (i < 0 || v.OverflowUint(uint64(i*factor))) {
			d.fail(n, path, "%q is not a number that fits here", text)
			return
		}
		if v.CanInt() {
			v.SetInt(i * factor)
		} else {
			v.SetUint(uint64(i * factor))
		}
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			d.fail(n, path, "%q is not a number", text)
		}
		v.SetFloat(f)
	default:
		d.fail(n, path, "this setting cannot be set in a file")
	}
}

// settable returns the fields of a struct that a file may set, by key.
func settable(v reflect.Value) map[string]reflect.Value {
	fields := map[string]reflect.Value{}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Anonymous && f.Type.Kind() == reflect.Struct && f.Tag.Get("yaml") == "" {
			maps.Copy(fields, settable(v.Field(i))) // its keys are the struct's own
			continue
		}
		switch f.Type.Kind() {
		case reflect.Func, reflect.Interface, reflect.Pointer, reflect.Chan:
			continue
		}
		if name := fieldKey(f); f.IsExported() && name != "-" {
			fields[name] = v.Field(i)
		}
	}
	return fields
}

func fieldKey(f reflect.StructField) string {
	if tag, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); tag != "" {
		return tag
	}
	return snake(f.Name)
}

// snake turns MaxFrameBytes into max_frame_bytes and SHA256 into sha256, RawTTL into raw_ttl.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, c := range runes {
		if unicode.IsUpper(c) {
			afterLower := i > 0 && unicode.IsLower(runes[i-1])
			startsWord := i > 0 && i+1 < len(runes) && unicode.IsUpper(runes[i-1]) &&
				unicode.IsLower(runes[i+1])
			if afterLower || startsWord {
				b.WriteByte('_')
			}
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}
