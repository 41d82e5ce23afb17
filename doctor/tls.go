package doctor

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/access/certs"
)

// Engines is the report of several engines.
func Engines(results []Result) *Report {
	r := &Report{OK: true, Results: results, noLine: true}
	for _, one := range results {
		r.OK = r.OK && one.Status != Fail
	}
	return r
}

// ReportFiles says whether the files of a section tls can be used, and for how long our certificate
// holds.
func ReportFiles(name string, tls *certs.Client) []Result {
	own, err := tls.Own()
	var results []Result
	for _, err := range each(err) {
		results = append(results, Result{name, Fail, oneLine(err.Error()),
			"correct that setting, or let this user read the file"})
	}
	if own == nil {
		return results
	}
	until := own.NotAfter.UTC().Format(time.DateOnly)
	mine := fmt.Sprintf("our certificate %s, signed by %s,", oneLine(own.Subject.String()),
		oneLine(own.Issuer.String()))
	switch {
	case time.Now().After(own.NotAfter):
		return append(results, Result{name, Fail, mine + " expired on " + until,
			"renew it; the roles read the files again by themselves"})
	case time.Now().Before(own.NotBefore):
		return append(results,
			Result{name, Fail,
				mine + " is not valid before " + own.NotBefore.UTC().Format(time.RFC3339),
				"compare this machine's clock"})
	case time.Until(own.NotAfter) < renewBefore:
		return append(results, Result{name, Warn, mine + " ends on " + until,
			"renew it before that; the roles read the files again by themselves"})
	}
	return append(results, Result{name, OK, mine + " is good until " + until, ""})
}

// ReportTLS says what came of saying hello to one address: the server's certificate, or why it does
// not answer.
func ReportTLS(name, address string, cert *x509.Certificate, err error) Result {
	var refusal *certs.Error
	switch {
	case errors.As(err, &refusal):
		return Result{name, Fail, oneLine(refusal.Message), oneLine(refusal.Remedy)}
	case err != nil:
		return Result{name, Fail, fmt.Sprintf("no TLS connection to %s: %s", address,
			oneLine(err.Error())), "check the address, the firewall between, and that it runs"}
	}
	until := cert.NotAfter.UTC().Format(time.DateOnly)
	if time.Until(cert.NotAfter) < renewBefore {
		return Result{name, Warn, fmt.Sprintf("%s's certificate ends on %s", address, until),
			"renew it before that"}
	}
	return Result{name, OK, fmt.Sprintf("%s lets us in; its certificate is good until %s", address,
		until), ""}
}

// ReportKafka says whether a broker answers. Section is that of TLS, if the port speaks it and the
// configuration does not.
func ReportKafka(brokers []string, err error, section string) Result {
	where := strings.Join(brokers, ", ")
	if err != nil {
		return Result{"kafka", Fail, fmt.Sprintf("%s: %s", where, oneLine(err.Error())),
			remedyFor(section, "check kafka.brokers and kafka.sasl")}
	}
	return Result{"kafka", OK, where + " answers", ""}
}

// remedyFor is remedy, or to switch on TLS where that is what the port speaks.
func remedyFor(section, remedy string) string {
	if section == "" {
		return remedy
	}
	return fmt.Sprintf("the port speaks TLS: add %s to the configuration, and check with --config",
		section)
}

// each takes joined errors apart.
func each(err error) []error {
	if err == nil {
		return nil
	}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range several.Unwrap() {
			all = append(all, each(e)...)
		}
		return all
	}
	return []error{err}
}
