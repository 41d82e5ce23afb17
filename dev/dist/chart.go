package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
)

// chart packs the Helm chart as Helm itself would. Its name says what it is: an archive that begins
// with ringwatch and the version could be anything.
func (r *release) chart() error {
	c, err := loadChart(r.version)
	if err != nil {
		return err
	}
	c.StampModTimes(r.at)
	packed, err := chartutil.Save(c, r.work)
	if err != nil {
		return err
	}
	return os.Rename(packed, filepath.Join(r.out, "ringwatch-"+r.version+"-chart.tgz"))
}

// loadChart reads the chart and makes it a version's.
func loadChart(version string) (*chart.Chart, error) {
	var files []*archive.BufferedFile
	const dir = "files/chart"
	err := fs.WalkDir(own, dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := own.ReadFile(path)
		files = append(files, &archive.BufferedFile{Name: strings.TrimPrefix(path, dir+"/"),
			Data: text})
		return err
	})
	if err != nil {
		return nil, err
	}
	c, err := loader.LoadFiles(files)
	if err != nil {
		return nil, err
	}
	c.Metadata.Version, c.Metadata.AppVersion = version, version
	return c, nil
}
