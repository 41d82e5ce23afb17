package api

import (
	_ "embed"
	"net/http"
)

// openapi describes every endpoint; TestOpenAPI drives the server by it and checks each answer.
//
//go:embed openapi.yaml
var openapi []byte

// getOpenAPI answers /v1/openapi.yaml, to anybody: it is documentation.
func getOpenAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(openapi)
}
