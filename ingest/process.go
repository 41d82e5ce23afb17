package ingest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/frame"
)

// checkLabels refuses frames whose entities speak for anything but their sender: a node's with a
// label that is a recorder's, and what checkProcess refuses of our own processes.
func checkLabels(f *frame.Frame) *refusal {
	if frame.IsProcess(f.Node) {
		return checkProcess(f)
	}
	for i := range f.Templates {
		if name := frame.RecordersLabel(f.Templates[i].Labels); name != "" {
			return refuse(http.StatusUnprocessableEntity, "recorder",
				"a node must not have the label %s, which is for what rules record: send it under "+
					"another name, such as exported_%s", name, name)
		}
	}
	return nil
}

// checkProcess refuses frames of our own processes that speak for anything but themselves.
// Nothing adds labels to their series, so the labels that are sent are checked here. Otherwise a
// key that is bound to one cluster could write series of another.
func checkProcess(f *frame.Frame) *refusal {
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
