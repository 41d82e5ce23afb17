package lookup

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"gopkg.in/inf.v0"
)

// maxDigits bounds numbers without a size of their own.
const maxDigits = 2000

var (
	wholeNumber  = regexp.MustCompile(`^-?\d+$`)
	anyNumber    = regexp.MustCompile(`^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$`)
	canonicalID  = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	calendarDate = regexp.MustCompile(`^([+-]?\d{4,7})-(\d\d)-(\d\d)$`)
	timeOfDay    = regexp.MustCompile(`^(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?$`)
)

func parseScalar(t gocql.Type, raw json.RawMessage) (any, error) {
	text, quoted := string(raw), false
	if len(raw) > 0 && raw[0] == '"' {
		var err error
		if text, err = exactString(raw); err != nil {
			return nil, err
		}
		quoted = true
	}
	number := len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
	switch t {
	case gocql.TypeText, gocql.TypeVarchar, gocql.TypeAscii:
		if !quoted {
			return nil, errors.New("is no string, as a text is")
		}
		if t == gocql.TypeAscii &&
			strings.IndexFunc(text, func(r rune) bool { return r > 127 }) >= 0 {
			return nil, errors.New("has other characters than ASCII's")
		}
		return text, nil
	case gocql.TypeBlob:
		if quoted {
			return parseBlob(text)
		}
	case gocql.TypeBoolean:
		if text == "true" || text == "false" {
			return text == "true", nil
		}
		return nil, errors.New("is neither true nor false")
	case gocql.TypeUUID, gocql.TypeTimeUUID:
		if !quoted || !canonicalID.MatchString(text) {
			return nil, errors.New("is no UUID such as 123e4567-e89b-12d3-a456-426614174000")
		}
		id, err := gocql.ParseUUID(text)
		if err == nil && t == gocql.TypeTimeUUID && id.Version() != 1 {
			err = fmt.Errorf("is a UUID of version %d, a timeuuid has version 1", id.Version())
		}
		return id, err
	case gocql.TypeInet:
		ip, err := netip.ParseAddr(text)
		if !quoted || err != nil || ip.Zone() != "" {
			return nil, errors.New("is no address such as 10.0.0.1 or 2001:db8::1")
		}
		// as Cassandra has it, which keeps an IPv4 in four bytes however it was written
		return net.IP(ip.Unmap().AsSlice()), nil
	case gocql.TypeTimestamp:
		return parseInstant(text, quoted)
	case gocql.TypeDate:
		return parseDate(text, quoted)
	case gocql.TypeTime:
		return parseTimeOfDay(text, quoted)
	}
	if number || quoted {
		return parseNumber(t, text)
	}
	return nil, fmt.Errorf("is nothing that %s can be", simpleNames[t])
}

// exactString decodes a JSON string, and refuses what encoding/json would replace: half a
// surrogate pair is no character.
func exactString(raw json.RawMessage) (string, error) {
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		if raw[i] != 'u' {
			continue
		}
		unit := func(at int) uint64 {
			if at+6 > len(raw) || raw[at] != '\\' || raw[at+1] != 'u' {
				return 0
			}
			v, _ := strconv.ParseUint(string(raw[at+2:at+6]), 16, 16)
			return v
		}
		switch v := unit(i - 1); {
		case v >= 0xdc00 && v <= 0xdfff:
			return "", errors.New("has half a surrogate pair, which is no character")
		case v >= 0xd800 && v <= 0xdbff:
			if low := unit(i + 5); low < 0xdc00 || low > 0xdfff {
				return "", errors.New("has half a surrogate pair, which is no character")
			}
			i += 6
		}
		i += 4
	}
	if !utf8.Valid(raw) {
		return "", errors.New("is not UTF-8")
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return "", errors.New("is no JSON")
	}
	return text, nil
}

func parseNumber(t gocql.Type, text string) (any, error) {
	if len(text) > maxDigits {
		return nil, fmt.Errorf("has more than %d digits", maxDigits)
	}
	bits := map[gocql.Type]int{gocql.TypeTinyInt: 8, gocql.TypeSmallInt: 16, gocql.TypeInt: 32,
		gocql.TypeBigInt: 64}[t]
	switch {
	case bits > 0:
		n, err := strconv.ParseInt(text, 10, bits)
		if !wholeNumber.MatchString(text) {
			return nil, fmt.Errorf("is no whole number, as %s is", article(simpleNames[t]))
		}
		if err != nil {
			return nil, fmt.Errorf("is beyond what %s has", article(simpleNames[t]))
		}
		switch t {
		case gocql.TypeTinyInt:
			return int8(n), nil
		case gocql.TypeSmallInt:
			return int16(n), nil
		case gocql.TypeInt:
			return int32(n), nil
		}
		return n, nil
	case t == gocql.TypeVarint:
		if n, ok := new(big.Int).SetString(text, 10); ok && wholeNumber.MatchString(text) {
			return *n, nil
		}
		return nil, errors.New("is no whole number, as a varint is")
	case t == gocql.TypeDecimal:
		return parseDecimal(text)
	case t == gocql.TypeFloat || t == gocql.TypeDouble:
		special := map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1),
			"-Infinity": math.Inf(-1)}
		v, found := special[text]
		if !found {
			if !anyNumber.MatchString(text) {
				return nil,
					errors.New(
						`is no number; beside numbers there are "NaN", "Infinity" and "-Infinity"`)
			}
			size := 64
			if t == gocql.TypeFloat {
				size = 32
			}
			var err error
			if v, err = strconv.ParseFloat(text, size); err != nil {
				return nil, fmt.Errorf("is beyond what a %s has", simpleNames[t])
			}
		}
		if t == gocql.TypeFloat {
			return float32(v), nil
		}
		return v, nil
	}
	return nil, fmt.Errorf("is of type %s, which no key has", cmp.Or(simpleNames[t], "custom"))
}

func article(name string) string {
	if name == "int" {
		return "an int"
	}
	return "a " + name
}

// parseDecimal keeps the digits after the point: 1.5 and 1.50 are two keys in Cassandra.
func parseDecimal(text string) (any, error) {
	m := anyNumber.FindStringSubmatch(text)
	if m == nil {
		return nil, errors.New("is no number")
	}
	// the expression lets digits pass only
	unscaled, _ := new(big.Int).SetString(m[1]+m[2]+m[3], 10)
	exponent := int64(0)
	if m[4] != "" {
		var err error
		if exponent, err = strconv.ParseInt(m[4], 10, 32); err != nil {
			return nil, errors.New("has an exponent beyond what a decimal has")
		}
	}
	scale := int64(len(m[3])) - exponent
	// Cassandra has more; comparing them takes as many digits
	if scale < -maxDigits || scale > maxDigits {
		return nil, fmt.Errorf("has an exponent beyond %d", maxDigits)
	}
	return *inf.NewDecBig(unscaled, inf.Scale(scale)), nil
}

func parseBlob(text string) (any, error) {
	var b []byte
	err := errors.New("neither")
	if digits, ok := strings.CutPrefix(text, "0x"); ok {
		b, err = hex.DecodeString(digits)
	} else if packed, ok := strings.CutPrefix(text, "base64:"); ok {
		b, err = base64.StdEncoding.Strict().DecodeString(packed)
	}
	if err != nil {
		return nil, errors.New("is no blob: write 0x and hex digits, or base64: and base64")
	}
	return b, nil
}

// parseInstant reads RFC 3339, or milliseconds since 1970. A fraction of a millisecond is
// refused: no timestamp has it.
func parseInstant(text string, quoted bool) (any, error) {
	if wholeNumber.MatchString(text) {
		if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
			return ms, nil
		}
	}
	at, err := time.Parse(time.RFC3339Nano, strings.Replace(text, " ", "T", 1))
	if !quoted || err != nil {
		return nil, errors.New("is no time: write RFC 3339 such as 2026-09-03T00:48:05.250Z, or " +
			"milliseconds since 1970")
	}
	if at.Nanosecond()%1e6 != 0 {
		return nil, errors.New("has a fraction of a millisecond, which no timestamp has")
	}
	return at.UnixMilli(), nil
}

// parseDate returns the day's first millisecond, as gocql takes it. A date is 32 bits of days.
func parseDate(text string, quoted bool) (any, error) {
	none := errors.New("is no date such as 2026-11-20")
	m := calendarDate.FindStringSubmatch(text)
	if m == nil || !quoted {
		return nil, none
	}
	year, _ := strconv.Atoi(m[1]) // short digits only
	month, _ := strconv.Atoi(m[2])
	day, _ := strconv.Atoi(m[3])
	at := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if y, mo, d := at.Date(); y != year || int(mo) != month || d != day {
		return nil, none
	}
	const dayMillis = 24 * 60 * 60 * 1000
	ms := at.Unix() * 1000
	if days := ms / dayMillis; days < math.MinInt32 || days > math.MaxInt32 {
		return nil, errors.New("is beyond what a date has")
	}
	return ms, nil
}

func parseTimeOfDay(text string, quoted bool) (any, error) {
	if wholeNumber.MatchString(text) {
		if ns, err := strconv.ParseInt(text, 10, 64); err == nil && ns >= 0 &&
			ns < int64(24*time.Hour) {
			return ns, nil
		}
	}
	m := timeOfDay.FindStringSubmatch(text)
	if m != nil && quoted {
		// short digits only, or none
		n := func(s string) int64 { v, _ := strconv.ParseInt(s, 10, 64); return v }
		if h, mi, s := n(m[1]), n(m[2]), n(m[3]); h < 24 && mi < 60 && s < 60 {
			return (h*3600+mi*60+s)*1e9 + n((m[4] + "000000000")[:9]), nil
		}
	}
	return nil, errors.New("is no time of day such as 13:30:54.234, nor nanoseconds since midnight")
}
