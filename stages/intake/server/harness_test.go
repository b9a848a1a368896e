package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"amends.dev/amends/schemas"
	"amends.dev/amends/stages/intake"
	"amends.dev/amends/stages/intake/intaketest"
)

// site is an intake with its HTTP server, in a world of its own.
type site struct {
	t      *testing.T
	world  *intaketest.World
	intake *intake.Intake
	url    string
}

// newSite starts one; edit may change its options.
func newSite(t *testing.T, edit func(*Options, *intake.Options)) *site {
	t.Helper()
	w := intaketest.New()
	deep := w.Options()
	o := Options{Namespace: "shop", Offered: w.Offer, Zones: deep.Zones, Authors: Local{}, Now: time.Now}
	if edit != nil {
		edit(&o, &deep)
	}
	o.Intake = w.Start(t, deep)
	ts := httptest.NewServer(New(o))
	t.Cleanup(ts.Close)
	return &site{t: t, world: w, intake: o.Intake, url: ts.URL}
}

// answer is one answer in full.
type answer struct {
	status int
	header http.Header
	body   map[string]any
	text   string
}

// field is the durability field as compact JSON, empty where there is none.
func (a answer) field() string {
	value, ok := a.body["durability"]
	if !ok {
		return ""
	}
	text, _ := json.Marshal(value) // it came as JSON
	return string(text)
}

// word is the member error.
func (a answer) word() string { return fmt.Sprint(a.body["error"]) }

// do sends a request and holds the answer to the OpenAPI document.
func (s *site) do(method, path, body string, header ...string) answer {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	a := answer{status: response.StatusCode, header: response.Header, text: string(text)}
	if err := json.Unmarshal(text, &a.body); err != nil && !strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain") {
		s.t.Fatalf("%s %s: %d %s: %v", method, path, a.status, text, err)
	}
	if err := documented(method, path, a); err != nil {
		s.t.Errorf("%s %s %s: %d %s: %v", method, path, body, a.status, text, err)
	}
	return a
}

// post submits a body to namespace shop.
func (s *site) post(body string, header ...string) answer {
	s.t.Helper()
	return s.do("POST", "/v1/namespaces/shop/transactions", body, header...)
}

// txn is a good transaction of a given ID.
func txn(id string) string {
	return fmt.Sprintf(`{"txn_id":%q,"stock_key":{"item":"widget","location":"berlin"},"revision":1,"kind":"NEW",`+
		`"valid_time":"2026-01-05T10:00:00Z","qty":5,"source_time":"2026-01-05T10:00:00Z"}`, id)
}

// submission is a body; members are further ones, as JSON with a comma before each.
func submission(id, members string) string {
	return fmt.Sprintf(`{"request_id":%q,"transaction":%s%s}`, id, txn(id), members)
}

// asking is the member that asks for a level.
func asking(level string, mustHave bool) string {
	return fmt.Sprintf(`,"durability_request":{"level":%q,"must_have":%t}`, level, mustHave)
}

// api is the OpenAPI document with its compiled schemas.
type api struct {
	routes map[*regexp.Regexp]map[string]map[string]string
	seen   map[string]bool
	mu     sync.Mutex
	schema map[string]*jsonschema.Schema
}

// theAPI loads it once. routes are path pattern, method, status and component.
var theAPI = sync.OnceValues(func() (*api, error) {
	text, err := schemas.Read("openapi.json")
	if err != nil {
		return nil, err
	}
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	whole, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource("openapi.json", whole); err != nil {
		return nil, err
	}
	a := &api{routes: map[*regexp.Regexp]map[string]map[string]string{}, seen: map[string]bool{}, schema: map[string]*jsonschema.Schema{}}
	for path, operations := range doc.Paths {
		pattern := regexp.MustCompile("^" + regexp.MustCompile(`\{[a-z_]+\}`).ReplaceAllString(path, "[^/]+") + "$")
		a.routes[pattern] = map[string]map[string]string{}
		for method, raw := range operations {
			if method == "parameters" {
				continue
			}
			var operation struct {
				Responses map[string]struct {
					Content map[string]struct {
						Schema struct {
							Ref string `json:"$ref"`
						}
					}
				}
			}
			if err := json.Unmarshal(raw, &operation); err != nil {
				return nil, err
			}
			statuses := map[string]string{}
			for status, response := range operation.Responses {
				statuses[status] = response.Content["application/json"].Schema.Ref
				if ref := statuses[status]; ref != "" && a.schema[ref] == nil {
					if a.schema[ref], err = compiler.Compile("openapi.json" + ref); err != nil {
						return nil, err
					}
				}
			}
			a.routes[pattern][strings.ToUpper(method)] = statuses
		}
	}
	return a, nil
})

// documented says what an answer has that the document does not.
func documented(method, path string, got answer) error {
	a, err := theAPI()
	if err != nil {
		return err
	}
	path, _, _ = strings.Cut(path, "?")
	for pattern, methods := range a.routes {
		if !pattern.MatchString(path) || methods[method] == nil {
			continue
		}
		ref, known := methods[method][fmt.Sprint(got.status)]
		if !known {
			return fmt.Errorf("status %d is not documented", got.status)
		}
		a.mu.Lock()
		a.seen[fmt.Sprintf("%s %s %d", method, pattern, got.status)] = true
		a.mu.Unlock()
		if (got.status == 429 || got.status == 503) && got.header.Get("Retry-After") == "" {
			return fmt.Errorf("no Retry-After")
		}
		if ref == "" {
			return nil
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(got.text))
		if err != nil {
			return err
		}
		return a.schema[ref].Validate(value)
	}
	if got.status == http.StatusNotFound || got.status == http.StatusMethodNotAllowed {
		return nil
	}
	return fmt.Errorf("the route is not documented")
}

// handleOf is the derivable handle.
func handleOf(id string) string { return intake.Handle("shop", id) }
