package ingest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/frame"
)

// checkProcess refuses frames of our own processes that speak for anything but themselves.
// Nothing adds labels to their series, so the labels that are sent are checked here. Otherwise a
// key that is bound to one cluster could write series of another.
func checkProcess(f *frame.Frame) *refusal {
	if !frame.IsProcess(f.Node) {
		return nil
	}
	own := func(text string) *refusal {
		return refuse(http.StatusUnprocessableEntity, "process",
			"%s: use a process of the same version as ingest", text)
	}
	for _, added := range f.Added {
		t := &f.Templates[added.Template]
		for _, name := range t.Labels {
			if strings.HasPrefix(name, "recorded_") && name != frame.RecordedLabel("cluster") &&
				name != frame.RecordedLabel("quantile") {
				return own("a process must not have the label " + name)
			}
		}
		i := slices.Index(t.Labels, frame.RecordedLabel("cluster"))
		for _, row := range added.Rows {
			if i < 0 || row[i] != f.Cluster {
				return own("a series of the process names another cluster than its frame")
			}
		}
	}
	return nil
}
