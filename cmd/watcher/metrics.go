package main

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"
)

// checkMetricsAddress refuses what can't be listened on, and what more than
// this machine could reach unless that was asked for.
func checkMetricsAddress(address string, public bool) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "" {
		return usagef("--metrics %q: it is an address such as 127.0.0.1:9311", address)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return usagef("--metrics %q: %q is no port", address, port)
	}
	ip := net.ParseIP(host)
	switch {
	case host == "localhost" || ip != nil && ip.IsLoopback() || public:
		return nil
	case host != "" && ip == nil:
		return usagef("--metrics %q: the host is an IP address or localhost", address)
	}
	return usagef("--metrics %q: others than this machine could read it; say --metrics-public if they may", address)
}

// metricsRetry is how long after a failure the address is tried again.
const metricsRetry = 30 * time.Second

// serveMetrics serves GET /metrics until ctx ends. An address that can't be
// had is tried for again: it never stops the daemon.
func (m *meter) serveMetrics(ctx context.Context, address string, log zerolog.Logger) {
	said := false
	for {
		l, err := net.Listen("tcp", address)
		if err == nil {
			log.Info().Stringer("address", l.Addr()).Msg("serving metrics")
			err = m.serve(ctx, l)
		}
		if ctx.Err() != nil {
			return
		}
		if !said {
			log.Warn().Err(err).Msg("cannot serve metrics; trying again")
		}
		said = true
		select {
		case <-ctx.Done():
			return
		case <-time.After(metricsRetry):
		}
	}
}

// serve serves on one listener until ctx ends or that breaks.
func (m *meter) serve(ctx context.Context, l net.Listener) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: 4, Timeout: 2 * surveyPatience}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second,
		WriteTimeout: 20 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 1 << 16}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	defer server.Close()
	return server.Serve(l)
}
