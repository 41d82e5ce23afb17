package promql

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
)

// queryAnswer is what Prometheus's endpoints answer.
type queryAnswer struct {
	warnings []string
	text     *string // a scalar or a string
	scalar   bool
	overTime bool // a matrix
	series   []querySeries
}

// querySeries has one point in a vector, and those there are in a matrix.
type querySeries struct {
	labels map[string]string
	points []queryPoint
}

// queryPoint is a number, with all the digits that the server sent, or a histogram.
type queryPoint struct {
	at        time.Time
	value     string
	histogram *queryHistogram
}

// Number is what a plot shows of the point.
func (p *queryPoint) number() float64 {
	if p.histogram != nil {
		return p.histogram.quantile(0.99)
	}
	return screen.Number(p.value)
}

func readAnswer(body []byte) (*queryAnswer, error) {
	var a struct {
		Status, Error   string
		Warnings, Infos []string
		Data            struct {
			ResultType string
			Result     json.RawMessage
		}
	}
	err := json.Unmarshal(body, &a)
	if err == nil && a.Status != "success" {
		if a.Error != "" {
			return nil, client.PromError{Text: a.Error}
		}
		err = errors.New("its status is not success")
	}
	answer := &queryAnswer{warnings: append(a.Warnings, a.Infos...)}
	if err == nil {
		err = answer.read(a.Data.ResultType, a.Data.Result)
	}
	if err != nil {
		return nil, fmt.Errorf(
			"the API's answer cannot be read (%w): use a program of the API's version", err)
	}
	return answer, nil
}

func (a *queryAnswer) read(kind string, result json.RawMessage) error {
	switch kind {
	case "scalar", "string":
		var p floatPoint
		err := json.Unmarshal(result, &p)
		a.text, a.scalar = &p.value, kind == "scalar"
		return err
	case "vector", "matrix":
		a.overTime = kind == "matrix"
	default:
		return fmt.Errorf("a result of type %q", screen.Plain(kind))
	}
	var list []struct {
		Metric     map[string]string
		Value      *floatPoint
		Histogram  *histogramPoint
		Values     []floatPoint
		Histograms []histogramPoint
	}
	if err := json.Unmarshal(result, &list); err != nil {
		return err
	}
	for _, s := range list {
		series := querySeries{labels: s.Metric}
		for _, p := range s.Values {
			series.points = append(series.points, queryPoint(p))
		}
		for _, p := range s.Histograms {
			series.points = append(series.points, queryPoint(p))
		}
		if len(s.Values) > 0 && len(s.Histograms) > 0 {
			slices.SortStableFunc(series.points, func(a, b queryPoint) int {
				return a.at.Compare(b.at)
			})
		}
		if s.Value != nil {
			series.points = append(series.points, queryPoint(*s.Value))
		}
		if s.Histogram != nil {
			series.points = append(series.points, queryPoint(*s.Histogram))
		}
		if len(series.points) == 0 {
			return errors.New("a series without values")
		}
		a.series = append(a.series, series)
	}
	return nil
}

// warn tells a person what the server has to say beside the answer.
func (a *queryAnswer) warn(errs io.Writer) {
	for _, text := range a.warnings {
		fmt.Fprintln(errs, "warning:", screen.Plain(text))
	}
}

// floatPoint is read from [1763799000.123,"1.5"], histogramPoint from the same with a histogram.
type (
	floatPoint     queryPoint
	histogramPoint queryPoint
)

func (p *floatPoint) UnmarshalJSON(text []byte) (err error) {
	p.at, err = ReadPoint(text, &p.value)
	return err
}

func (p *histogramPoint) UnmarshalJSON(text []byte) (err error) {
	p.histogram = &queryHistogram{}
	p.at, err = ReadPoint(text, p.histogram)
	return err
}

// ReadPoint reads a pair of a time and a value of an answer.
func ReadPoint(text []byte, into any) (time.Time, error) {
	var pair []json.RawMessage
	if err := json.Unmarshal(text, &pair); err != nil {
		return time.Time{}, err
	}
	if len(pair) != 2 {
		return time.Time{}, errors.New("a value that is no pair")
	}
	at, err := strconv.ParseFloat(string(pair[0]), 64)
	if err != nil || !(math.Abs(at) <= screen.MaxTime/1000) {
		return time.Time{}, errors.New("a value without a time")
	}
	return time.UnixMilli(int64(math.Round(at * 1000))), json.Unmarshal(pair[1], into)
}
