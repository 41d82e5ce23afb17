package engines

import "context"

// FetchJars makes a set of jars ready that is no engine, such as another exporter that a
// benchmark compares with: fetched by its pom, checked against its lock (sha256sum's format) and
// kept in the cache like the engines. It returns their class path.
func FetchJars(ctx context.Context, name, version string, pom []byte, lock string,
	progress func(string)) (string, error) {
	return bundle{name: name, title: name, version: version, pom: pom, lock: lock}.fetch(ctx,
		progress)
}
