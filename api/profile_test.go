package api_test

import (
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/api/apitest"
	"github.com/ringwatch/ringwatch/dictionary/profile"
)

func TestUnknownProfile(t *testing.T) {
	url := mustServe(t, &apitest.Store{})
	for _, path := range []string{"/v1/nodes/" + uuid.NewString() + "/prometheus",
		"/v1/clusters/c/prometheus"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			url+path+"?profile=node_exporter", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+acmeKey)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if want := strings.Join(profile.Names(), ", "); err != nil ||
			answer.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), want) {
			t.Errorf("%s: %d %s %v", path, answer.StatusCode, body, err)
		}
	}
}

// TestProfileOfAFile holds that the refusal of an operator's own rule file says what to do.
func TestProfileOfAFile(t *testing.T) {
	path := "/v1/nodes/" + uuid.NewString() + "/prometheus?profile=jmx_exporter_2"
	url := mustServe(t, &apitest.Store{}) + path
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+acmeKey)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusBadRequest {
		t.Errorf("%d %v", answer.StatusCode, err)
	}
	for _, want := range []string{"a node's own rule file", "/metrics?profile=jmx_exporter_2",
		"profiles of agent.yaml"} {
		if !strings.Contains(string(body), want) {
			t.Errorf("%s does not say %q", body, want)
		}
	}
}

// TestProfilesInOpenAPI holds the names that openapi.yaml lists against those that there are.
func TestProfilesInOpenAPI(t *testing.T) {
	var document struct {
		Components struct {
			Parameters struct {
				Profile struct {
					Schema struct {
						Enum []string `yaml:"enum"`
					} `yaml:"schema"`
				} `yaml:"profile"`
			} `yaml:"parameters"`
		} `yaml:"components"`
	}
	file, err := os.ReadFile("openapi.yaml")
	if err == nil {
		err = yaml.Unmarshal(file, &document)
	}
	if err != nil {
		t.Fatal(err)
	}
	if list := document.Components.Parameters.Profile.Schema.Enum; !slices.Equal(list,
		profile.Names()) {
		t.Errorf("openapi.yaml has the profiles %s, not %s", list, profile.Names())
	}
}
