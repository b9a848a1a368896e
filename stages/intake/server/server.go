// Package server is the intake's HTTP: routes, authors, limits, and the JSON of every answer as schemas/openapi.json
// describes it.
package server

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"amends.dev/amends/schemas"
	"amends.dev/amends/stages/durability"
	"amends.dev/amends/stages/intake"
	"amends.dev/amends/stages/run"
)

// DefaultMaxBody bounds a body, in bytes, where Options say nothing.
const DefaultMaxBody = 256 << 10

// MaxBodyLimit is the largest bound that a body may have: what passes it must fit into one record of a topic with Kafka's
// default limits, or it could never be published.
const MaxBodyLimit = 900_000

// Options are the parts of a server. Intake, Namespace, Authors and Now are required.
type Options struct {
	Intake    *intake.Intake
	Namespace string
	// Offered and Zones are advertised (durability extension section 3).
	Offered func() durability.Level
	Zones   map[durability.Level][]string
	Authors Authors
	// Now is the clock of the rate limits.
	Now func() time.Time
	// MaxBody bounds a body, in bytes; at most MaxBodyLimit.
	MaxBody int64
	// Rate bounds the submissions of one author in a second, with bursts of as many, and as many reads of handles besides; 0
	// is unlimited.
	Rate int
	// MaxWaits bounds the answers that are held back at one time; one author has half of them at most.
	MaxWaits int
	// Status returns what the intake's tasks show, for the metrics; nil leaves them out.
	Status func() []run.Status
	Log    *slog.Logger
}

// server answers requests.
type server struct {
	options Options
	rates   *rates
	reads   *rates
	waits   *waits
	metrics *metrics
}

// New returns the handler of all routes.
func New(options Options) http.Handler {
	if options.MaxBody <= 0 {
		options.MaxBody = DefaultMaxBody
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	s := &server{
		options: options, rates: newRates(options.Rate, options.Now), reads: newRates(options.Rate, options.Now),
		waits: newWaits(options.MaxWaits), metrics: newMetrics(),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/namespaces/{namespace}/transactions", s.submit)
	mux.HandleFunc("GET /v1/namespaces/{namespace}/requests/{request_id}", s.entry)
	mux.HandleFunc("GET /v1/durability", s.advertise)
	mux.HandleFunc("GET /v1/openapi.json", s.openAPI)
	mux.HandleFunc("GET /livez", s.live)
	mux.HandleFunc("GET /readyz", s.ready)
	mux.HandleFunc("GET /metrics", s.showMetrics)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.elsewhere(w, r, mux) })
	return mux
}

// elsewhere answers what no route is for: 405 where the path has one of another method, else 404.
func (s *server) elsewhere(w http.ResponseWriter, r *http.Request, mux *http.ServeMux) {
	other := r.Clone(r.Context())
	for _, other.Method = range []string{http.MethodGet, http.MethodPost} {
		if _, pattern := mux.Handler(other); pattern != "/" {
			w.Header().Set("Allow", other.Method)
			s.write(w, http.StatusMethodNotAllowed, problem{Error: "method_not_allowed", Detail: "this path takes " + other.Method})
			return
		}
	}
	s.write(w, http.StatusNotFound, problem{Error: "not_found", Detail: "see /v1/openapi.json"})
}

// problem is the JSON of an answer to a request that was not performed.
type problem struct {
	Error      string             `json:"error"`
	Detail     string             `json:"detail,omitempty"`
	RequestID  string             `json:"request_id,omitempty"`
	Durability *durability.Result `json:"durability,omitempty"`
}

// performed is the JSON of an answer to a submission that was performed.
type performed struct {
	RequestID  string              `json:"request_id"`
	Durability *durability.Result  `json:"durability,omitempty"`
	Source     *intake.Coordinates `json:"source,omitempty"`
	Decision   *intake.Decision    `json:"decision,omitempty"`
}

// write answers with JSON. A client that is gone does not get it.
func (s *server) write(w http.ResponseWriter, status int, value any) {
	header := w.Header()
	header["Content-Type"], header["X-Content-Type-Options"] = contentType, noSniff
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		s.options.Log.Debug("write an answer", "error", err)
	}
}

// The values of headers that every answer has; they are never changed.
var (
	contentType = []string{"application/json"}
	noSniff     = []string{"nosniff"}
)

// read reads a body, at most limit bytes of it.
func read(r *http.Request, limit int64) ([]byte, error) {
	var text bytes.Buffer
	text.Grow(int(min(max(r.ContentLength, 0), limit)) + bytes.MinRead)
	_, err := text.ReadFrom(io.LimitReader(r.Body, limit))
	return text.Bytes(), err
}

// submit is POST /v1/namespaces/{namespace}/transactions. The body is read first, because every answer to a request with
// a marker carries the durability field (R30), that of 401 too.
func (s *server) submit(w http.ResponseWriter, r *http.Request) {
	start := s.options.Now()
	text, err := read(r, s.options.MaxBody+1)
	tooLarge := int64(len(text)) > s.options.MaxBody
	if err == nil && tooLarge { // the marker may come later
		var more []byte
		more, err = io.ReadAll(io.LimitReader(r.Body, MaxBodyLimit))
		text = append(text, more...)
	}
	refuse := func(p durability.Problem, word, detail string) {
		s.reply(w, "", s.options.Intake.Refuse(intake.PeekMarker(text), p, word, detail))
	}
	author, known := s.author(r)
	switch {
	case !known:
		w.Header().Set("WWW-Authenticate", "Bearer")
		refuse(durability.Unauthenticated, intake.ErrorUnauthenticated, "no author: send a bearer token or a client certificate")
		return
	case tooLarge:
		w.Header().Set("Connection", "close")
		refuse(durability.TooLarge, intake.ErrorTooLarge, "the body has more than "+strconv.FormatInt(s.options.MaxBody, 10)+" bytes")
		return
	case !s.rates.allow(author):
		refuse(durability.TooMany, intake.ErrorTooMany, "this author sends more than "+strconv.Itoa(s.options.Rate)+" requests in a second")
		return
	case err != nil:
		refuse(durability.Malformed, intake.ErrorMalformed, "the body ended early")
		return
	}
	body, err := intake.ParseBody(text)
	if err != nil {
		refuse(durability.Malformed, intake.ErrorMalformed, err.Error())
		return
	}
	if r.PathValue("namespace") != s.options.Namespace {
		s.unknownNamespace(w, body)
		return
	}
	if body.Wait > 0 && s.waits.enter(author) != 0 {
		body.Wait = 0 // a wait only delays the answer; it refuses nothing (R33)
	}
	if body.Wait > 0 {
		defer s.waits.leave(author)
	}
	s.reply(w, body.RequestID, s.options.Intake.Submit(r.Context(), author, body))
	s.metrics.took(s.options.Now().Sub(start))
}

// foreign tells requests that a browser makes for a page of another site: a certificate, or standing on this machine, makes
// their author nobody.
var foreign = http.NewCrossOriginProtection()

// author is who sends a submission; false where it is nobody.
func (s *server) author(r *http.Request) (string, bool) {
	if foreign.Check(r) != nil {
		return "", false
	}
	return s.options.Authors.Author(r)
}

// unknownNamespace answers a submission to a namespace that is not served here.
func (s *server) unknownNamespace(w http.ResponseWriter, body intake.Body) {
	p := problem{Error: "unknown_namespace", Detail: "this intake serves " + s.options.Namespace, RequestID: body.RequestID}
	if m := body.Marker; m != nil {
		p.Durability = &durability.Result{Requested: m.Level, Applied: durability.None}
	}
	s.metrics.count(http.StatusNotFound)
	s.write(w, http.StatusNotFound, p)
}

// reply writes the answer to a submission.
func (s *server) reply(w http.ResponseWriter, requestID string, r intake.Reply) {
	if r.Lost {
		s.metrics.count(0)
		s.hangUp(w)
		return
	}
	s.metrics.count(r.Status)
	if r.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(int64((r.RetryAfter+time.Second-1)/time.Second), 10))
	}
	if r.Performed() {
		s.write(w, r.Status, performed{RequestID: requestID, Durability: r.Durability, Source: r.Source, Decision: r.Decision})
		return
	}
	s.write(w, r.Status, problem{Error: r.Error, Detail: r.Detail, RequestID: requestID, Durability: r.Durability})
}

// hangUp ends the connection without an answer, since none would be true: every status but 200 and 202 says that nothing
// was performed (R30).
func (s *server) hangUp(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil { // not over HTTP/1
		s.write(w, http.StatusInternalServerError, problem{Error: "outcome_unknown", Detail: "look at the handle"})
		return
	}
	if err := connection.Close(); err != nil {
		s.options.Log.Debug("close a connection", "error", err)
	}
}

// entry is GET /v1/namespaces/{namespace}/requests/{request_id}, the handle of a kept request (R32).
func (s *server) entry(w http.ResponseWriter, r *http.Request) {
	author, known := s.options.Authors.Author(r)
	if !known {
		w.Header().Set("WWW-Authenticate", "Bearer")
		s.write(w, http.StatusUnauthorized, problem{Error: intake.ErrorUnauthenticated})
		return
	}
	var wait time.Duration
	if text := r.URL.Query().Get("wait"); text != "" {
		var err error
		if wait, err = intake.ParseWait(text); err != nil {
			s.write(w, http.StatusBadRequest, problem{Error: intake.ErrorMalformed, Detail: err.Error()})
			return
		}
	}
	if !s.mayRead(w, author, wait) {
		return
	}
	if wait > 0 {
		defer s.waits.leave(author)
	}
	requestID := r.PathValue("request_id")
	if r.PathValue("namespace") != s.options.Namespace || !intake.ValidRequestID(requestID) {
		s.write(w, http.StatusNotFound, problem{Error: "unknown_request"})
		return
	}
	entry, err := s.options.Intake.Find(r.Context(), author, requestID, wait)
	switch {
	case err != nil:
		s.options.Log.Warn("read a request", "error", err)
		w.Header().Set("Retry-After", "1")
		s.write(w, http.StatusServiceUnavailable, problem{Error: intake.ErrorUnavailable, Detail: "the owner store does not answer"})
	case entry == nil:
		s.write(w, http.StatusNotFound, problem{Error: "unknown_request", Detail: "this author has no kept request of this ID"})
	default:
		s.write(w, http.StatusOK, entry)
	}
}

// mayRead takes a read of a handle, and a place where it is to be held back, which the caller gives back. It answers where
// there is none.
func (s *server) mayRead(w http.ResponseWriter, author string, wait time.Duration) bool {
	refuse := func(status int, word, detail string) bool {
		w.Header().Set("Retry-After", "1")
		s.write(w, status, problem{Error: word, Detail: detail})
		return false
	}
	if !s.reads.allow(author) {
		return refuse(http.StatusTooManyRequests, intake.ErrorTooMany, "this author reads more than "+strconv.Itoa(s.options.Rate)+" handles in a second")
	}
	if wait <= 0 {
		return true
	}
	switch s.waits.enter(author) {
	case 0:
		return true
	case http.StatusTooManyRequests:
		return refuse(http.StatusTooManyRequests, intake.ErrorTooMany, "this author waits for "+strconv.Itoa(s.waits.ofAuthor())+" answers already; read without wait")
	}
	return refuse(http.StatusServiceUnavailable, intake.ErrorUnavailable, strconv.Itoa(s.waits.most)+" answers are waited for already; read without wait")
}

// offer is one advertised level.
type offer struct {
	Level durability.Level `json:"level"`
	Zones []string         `json:"zones"`
}

// advertise is GET /v1/durability: the levels offered, weakest first, with their zone characteristics.
func (s *server) advertise(w http.ResponseWriter, _ *http.Request) {
	offers := []offer{}
	for _, level := range durability.Levels() {
		if !s.options.Offered().AtLeast(level) {
			continue
		}
		zones := s.options.Zones[level]
		if zones == nil {
			zones = []string{}
		}
		offers = append(offers, offer{Level: level, Zones: zones})
	}
	s.write(w, http.StatusOK, map[string][]offer{"levels": offers})
}

// openAPI is GET /v1/openapi.json.
func (s *server) openAPI(w http.ResponseWriter, _ *http.Request) {
	text, err := schemas.Read("openapi.json")
	if err != nil {
		s.write(w, http.StatusInternalServerError, problem{Error: "not_found"})
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(text); err != nil {
		s.options.Log.Debug("write an answer", "error", err)
	}
}

// readiness is the JSON of /readyz.
type readiness struct {
	Ready  bool   `json:"ready"`
	Reason string `json:"reason,omitempty"`
}

// live is GET /livez: the process serves. It asks neither database nor broker.
func (s *server) live(w http.ResponseWriter, _ *http.Request) {
	s.write(w, http.StatusOK, readiness{Ready: true})
}

// ready is GET /readyz: whether submissions are performed now, or each is told why not.
func (s *server) ready(w http.ResponseWriter, _ *http.Request) {
	if ready, why := s.options.Intake.Ready(); !ready {
		w.Header().Set("Retry-After", "1")
		s.write(w, http.StatusServiceUnavailable, readiness{Reason: why})
		return
	}
	s.write(w, http.StatusOK, readiness{Ready: true})
}
