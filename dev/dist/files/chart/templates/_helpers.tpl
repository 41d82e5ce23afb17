{{- define "ringwatch.name" -}}
{{- if contains "ringwatch" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-ringwatch" (.Release.Name | trunc 30 | trimSuffix "-") }}{{ end }}
{{- end }}

{{/* The roles that run, by commas. */}}
{{- define "ringwatch.roles" -}}
{{- if eq .Values.mode "embedded" }}all
{{- else }}ingest,store,recent,rules,api
{{- $watch := .Values.config.watch | default dict }}
{{- if or $watch.kafka $watch.redis $watch.scrape_configs }},watch{{ end }}
{{- end }}
{{- end }}

{{/* The name of a role's objects. */}}
{{- define "ringwatch.nameOf" -}}
{{ include "ringwatch.name" .root }}{{ if ne .role "all" }}-{{ .role }}{{ end }}
{{- end }}

{{/* Where a role that runs by itself is asked how it is. */}}
{{- define "ringwatch.port" -}}
{{ get (dict "all" 9470 "api" 9470 "ingest" 9471 "store" 9473 "recent" 9474 "rules" 9475 "watch" 9476) . }}
{{- end }}

{{/* The name of that port: what others than Prometheus use has a name of its own. */}}
{{- define "ringwatch.portName" -}}
{{ get (dict "all" "api" "api" "api" "ingest" "ingest") . | default "metrics" }}
{{- end }}

{{- define "ringwatch.selector" -}}
app.kubernetes.io/name: ringwatch
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .role }}
{{- end }}

{{- define "ringwatch.labels" -}}
{{ include "ringwatch.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "ringwatch.scheme" -}}
{{ if .Values.tls.existingSecret }}https{{ else }}http{{ end }}
{{- end }}

{{/* The configuration: what the values say, and what follows from them. */}}
{{- define "ringwatch.config" -}}
{{- $own := dict "ingest" (dict "listen" ":9471") "api" (dict "listen" ":9470") }}
{{- if .Values.tls.existingSecret }}
{{- $files := dict "cert_file" "/etc/ringwatch-tls/tls.crt" "key_file" "/etc/ringwatch-tls/tls.key" }}
{{- $_ := set $own.ingest "tls" $files }}
{{- $_ := set $own.api "tls" $files }}
{{- end }}
{{- if eq .Values.mode "embedded" }}
{{- $gib := trimSuffix "Gi" .Values.embedded.persistence.size | int64 }}
{{- $_ := set $own "data" (dict "dir" "/var/lib/ringwatch/data" "max_bytes" (printf "%dMiB" (div (mul $gib 9216) 10))) }}
{{- else }}
{{- $_ := set $own "kafka" (dict "instance_id" "${RINGWATCH_INSTANCE_ID}") }}
{{- range list "store" "recent" "rules" "watch" }}
{{- $_ := set $own . (dict "listen" (printf ":%s" (include "ringwatch.port" .))) }}
{{- end }}
{{- $_ := set $own.watch "spool" (dict "directory" "/var/lib/ringwatch/spool") }}
{{- end }}
{{- $service := include "ringwatch.nameOf" (dict "root" . "role" (eq .Values.mode "embedded" | ternary "all" "ingest")) }}
{{- $ingest := printf "%s://%s.%s.svc:9471" (include "ringwatch.scheme" .) $service .Release.Namespace }}
{{- $_ := set $own "self" (dict "url" $ingest) }}
{{- if eq .Values.mode "embedded" }}
{{- $_ := set $own.self "enabled" true }}
{{- end }}
{{- $_ := set $own "watch" (merge (dict "url" $ingest) ($own.watch | default dict)) }}
{{- mergeOverwrite $own (deepCopy .Values.config) | toYaml }}
{{- end }}

{{/* What no schema can say of values. */}}
{{- define "ringwatch.check" -}}
{{- $config := .Values.config }}
{{- if not (regexMatch "^[a-z][-a-z0-9]*$" .Release.Name) }}
{{- fail (printf "the release is called %s, and Services cannot be called so: begin its name with a letter, and take a-z, 0-9 and - alone" .Release.Name) }}
{{- end }}
{{- if not .Values.image.repository }}
{{- fail (printf "image.repository is empty: push ringwatch-%s-oci.tar to a registry that your cluster reads, and name it here" .Chart.AppVersion) }}
{{- end }}
{{- $engines := dict "kafka" "brokers" "cassandra" "hosts" "redis" "addresses" }}
{{- range $section := list "kafka" "cassandra" "redis" }}
{{- $key := get $engines $section }}
{{- $named := get (get $config $section | default dict) $key }}
{{- if and (eq $.Values.mode "line") (not $named) }}
{{- fail (printf "config.%s.%s is empty: mode line needs the addresses of your engines, mode embedded needs none" $section $key) }}
{{- else if and (eq $.Values.mode "embedded") $named }}
{{- fail (printf "config.%s.%s is set: mode embedded keeps everything in its volume; with engines take mode line" $section $key) }}
{{- end }}
{{- end }}
{{- range $key := list "data.dir" "kafka.instance_id" "ingest.listen" "ingest.tls" "api.listen" "api.tls" "store.listen" "store.tls" "recent.listen" "recent.tls" "rules.listen" "rules.tls" "watch.listen" "watch.tls" }}
{{- $path := splitList "." $key }}
{{- if hasKey (get $config (index $path 0) | default dict) (index $path 1) }}
{{- fail (printf "config.%s is set: the chart sets it, since probes, ports and volumes must fit it%s" $key (eq (index $path 1) "tls" | ternary "; name a certificate in tls.existingSecret" "")) }}
{{- end }}
{{- end }}
{{- if .Values.serviceMonitor.enabled }}
{{- if and .Values.tls.existingSecret (not .Values.serviceMonitor.tlsConfig) }}
{{- fail "serviceMonitor.tlsConfig is empty, and Prometheus asks pods by their addresses: set serviceMonitor.tlsConfig.serverName to a name of the certificate, and ca" }}
{{- end }}
{{- with .Values.networkPolicy }}
{{- if and .enabled (not .metricsFrom) (or .agentsFrom .readersFrom) }}
{{- fail "networkPolicy.metricsFrom is empty: name your Prometheus there, since agentsFrom and readersFrom keep it out" }}
{{- end }}
{{- end }}
{{- end }}
{{- include "ringwatch.noSecrets" (dict "at" "config" "value" $config) }}
{{- $names := regexFindAll "\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}" (toYaml $config) -1 }}
{{- if and $names (not .Values.environment.existingSecret) }}
{{- fail (printf "config has %s, but environment.existingSecret names no secret that would have it" (first $names)) }}
{{- end }}
{{- end }}

{{/* A config map is no place for a password. */}}
{{- define "ringwatch.noSecrets" -}}
{{- $at := .at }}
{{- if kindIs "map" .value }}
{{- range $key, $value := .value }}
{{- if and (not (has (kindOf $value) (list "map" "slice" "invalid"))) (ne (toString $value) "") (has $key (list "password" "key" "credentials" "bearer_token" "secret_key" "client_secret")) (not (regexMatch "^\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}$" (toString $value))) }}
{{- fail (printf "%s.%s is a secret, and a config map has no secrets: write ${NAME} there, and put NAME into the secret that environment.existingSecret names" $at $key) }}
{{- end }}
{{- include "ringwatch.noSecrets" (dict "at" (printf "%s.%s" $at $key) "value" $value) }}
{{- end }}
{{- else if kindIs "slice" .value }}
{{- range $i, $value := .value }}
{{- include "ringwatch.noSecrets" (dict "at" (printf "%s[%d]" $at $i) "value" $value) }}
{{- end }}
{{- end }}
{{- end }}

{{/* What every pod has, the schema's job too. */}}
{{- define "ringwatch.podSettings" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . | quote }}
{{- end }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- range $key := list "nodeSelector" "tolerations" "affinity" }}
{{- with get $.Values $key }}
{{ $key }}: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{- define "ringwatch.container" -}}
image: {{ printf "%s:%s" .root.Values.image.repository (.root.Values.image.tag | default .root.Chart.AppVersion) | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
env:
  # So that commands in this container need no --config.
  - name: RINGWATCH_CONFIG
    value: /etc/ringwatch/ringwatch.yaml
{{- if eq .root.Values.mode "line" }}
  # Only a pod that comes back under its name may have one: Kafka keeps its partitions for it.
  - name: RINGWATCH_INSTANCE_ID
{{- if .named }}
    valueFrom: {fieldRef: {fieldPath: metadata.name}}
{{- else }}
    value: ""
{{- end }}
{{- end }}
{{- with .root.Values.environment.existingSecret }}
envFrom:
  - secretRef: {name: {{ . | quote }}}
{{- end }}
volumeMounts:
  - {name: config, mountPath: /etc/ringwatch, readOnly: true}
{{- if .root.Values.tls.existingSecret }}
  - {name: tls, mountPath: /etc/ringwatch-tls, readOnly: true}
{{- end }}
{{- range $i, $name := .root.Values.secretFiles }}
  - {name: secret-{{ $i }}, mountPath: /etc/ringwatch-secrets/{{ $name }}, readOnly: true}
{{- end }}
{{- range $i, $name := .root.Values.configMapFiles }}
  - {name: files-{{ $i }}, mountPath: /etc/ringwatch-files/{{ $name }}, readOnly: true}
{{- end }}
{{- if .writes }}
  - {name: data, mountPath: /var/lib/ringwatch}
{{- end }}
{{- end }}

{{- define "ringwatch.volumes" -}}
- name: config
  configMap: {name: {{ .config }}}
{{- with .root.Values.tls.existingSecret }}
- name: tls
  secret: {secretName: {{ . | quote }}, defaultMode: 0440}
{{- end }}
{{- range $i, $name := .root.Values.secretFiles }}
- name: secret-{{ $i }}
  secret: {secretName: {{ $name | quote }}, defaultMode: 0440}
{{- end }}
{{- range $i, $name := .root.Values.configMapFiles }}
- name: files-{{ $i }}
  configMap: {name: {{ $name | quote }}}
{{- end }}
{{- end }}

{{/* A probe of a path. */}}
{{- define "ringwatch.get" -}}
httpGet:
  path: {{ .path }}
  port: {{ include "ringwatch.portName" .role }}
  scheme: {{ has .role (list "all" "api" "ingest") | ternary (include "ringwatch.scheme" .root) "http" | upper }}
{{- end }}

{{/* The pods of a role, in its Deployment or StatefulSet. */}}
{{- define "ringwatch.template" -}}
{{- $watch := eq .role "watch" }}
{{- $served := has .role (list "all" "api" "ingest") }}
metadata:
  labels:
    {{- include "ringwatch.labels" . | nindent 4 }}
    {{- with .root.Values.podLabels }}{{ toYaml . | nindent 4 }}{{ end }}
  annotations:
    # The roles read their configuration when they start.
    checksum/config: {{ include "ringwatch.config" .root | sha256sum }}
    {{- with .root.Values.podAnnotations }}{{ toYaml . | nindent 4 }}{{ end }}
spec:
  {{- include "ringwatch.podSettings" .root | nindent 2 }}
  terminationGracePeriodSeconds: 45
  {{- if ne .role "all" }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "ringwatch.selector" . | nindent 10 }}
  {{- end }}
  containers:
    - name: ringwatch
      args: [{{ .role }}]
      {{- include "ringwatch.container" (merge (dict "writes" (or (eq .role "all") $watch)) .) | nindent 6 }}
      ports:
        - {name: {{ include "ringwatch.portName" .role }}, containerPort: {{ include "ringwatch.port" .role }}}
        {{- if eq .role "all" }}
        - {name: ingest, containerPort: 9471}
        {{- end }}
      # A role waits for its engines for 90 seconds, and then ends with a sentence that says why.
      startupProbe:
        {{- include "ringwatch.get" (merge (dict "path" "/-/healthy") .) | nindent 8 }}
        periodSeconds: 3
        timeoutSeconds: 5
        failureThreshold: 60
      livenessProbe:
        {{- include "ringwatch.get" (merge (dict "path" "/-/healthy") .) | nindent 8 }}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      # An API without its store still answers for the last 15 minutes. /-/ready would take all of
      # its pods out of the Service at once.
      readinessProbe:
        {{- include "ringwatch.get" (merge (dict "path" (eq .role "api" | ternary "/-/healthy" "/-/ready")) .) | nindent 8 }}
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 2
      {{- if $served }}
      # Others still send here until they know that this pod ends.
      lifecycle: {preStop: {sleep: {seconds: 5}}}
      {{- end }}
      resources: {{- toYaml .resources | nindent 8 }}
  volumes:
    {{- include "ringwatch.volumes" (dict "root" .root "config" (include "ringwatch.name" .root)) | nindent 4 }}
    {{- if $watch }}
    - name: data
      emptyDir: {sizeLimit: 1Gi}
    {{- else if eq .role "all" }}
    {{- with .root.Values.embedded.persistence.existingClaim }}
    - name: data
      persistentVolumeClaim: {claimName: {{ . | quote }}}
    {{- end }}
    {{- end }}
{{- end }}
