package main

import (
	"bytes"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// materials is the bill of materials in CycloneDX's JSON.
func (r *release) materials(v *inventory) ([]byte, error) {
	bom := cdx.NewBOM()
	self := "pkg:golang/github.com/ringwatch/ringwatch@" + r.version
	bom.Metadata = &cdx.Metadata{Timestamp: r.at.Format(time.RFC3339), Component: &cdx.Component{
		BOMRef: self, Type: cdx.ComponentTypeApplication, Name: "ringwatch", Version: r.version,
		PackageURL: self, Licenses: licenceChoices([]string{"Apache-2.0"}),
	}}
	var components []cdx.Component
	var uses []string
	for _, c := range v.components {
		components = append(components, cdx.Component{BOMRef: c.url,
			Type: cdx.ComponentTypeLibrary, Name: c.name, Version: c.version, PackageURL: c.url,
			Licenses: licenceChoices(c.licences)})
		uses = append(uses, c.url)
	}
	agent := "pkg:maven/dev.ringwatch/ringwatch-agent@" + r.version
	components = append(components, cdx.Component{BOMRef: agent,
		Type: cdx.ComponentTypeApplication, Name: "ringwatch-agent", Version: r.version,
		PackageURL: agent, Licenses: licenceChoices([]string{"Apache-2.0"})})
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: self, Dependencies: &uses}, {Ref: agent}}
	var b bytes.Buffer
	encoder := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true)
	if err := encoder.EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func licenceChoices(ids []string) *cdx.Licenses {
	if len(ids) == 1 {
		return &cdx.Licenses{{License: &cdx.License{ID: ids[0]}}}
	}
	return &cdx.Licenses{{Expression: strings.Join(ids, " AND ")}}
}
