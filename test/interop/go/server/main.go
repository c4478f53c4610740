// An agent on the official Go SDK.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"
	"github.com/a2aproject/a2a-go/a2asrv/push"
)

// step is one step of what the agent does; every server of the interop tests plays the same.
type step struct {
	State    a2a.TaskState
	Kind     string
	Text     string
	Data     map[string]any
	Message  string
	Artifact string
	WaitMs   int
	Hold     bool
}

type player struct {
	scripts   map[string][]step
	extension string
}

func (p *player) Execute(ctx context.Context, req *a2asrv.RequestContext, queue eventqueue.Queue) error {
	script := "answer"
	if text, ok := req.Message.Parts[0].(a2a.TextPart); ok {
		script = text.Text
	}
	steps := p.scripts[script]
	if len(steps) > 0 && steps[0].Message != "" {
		answer := a2a.NewMessage(a2a.MessageRoleAgent, a2a.TextPart{Text: steps[0].Message})
		answer.ContextID = req.ContextID
		return queue.Write(ctx, answer)
	}
	if req.StoredTask == nil {
		if err := queue.Write(ctx, a2a.NewSubmittedTask(req, req.Message)); err != nil {
			return err
		}
	}
	for _, next := range steps {
		if err := p.play(ctx, req, queue, next); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) play(ctx context.Context, req *a2asrv.RequestContext, queue eventqueue.Queue, next step) error {
	switch {
	case next.Hold:
		<-ctx.Done()
		return ctx.Err()
	case next.WaitMs > 0:
		time.Sleep(time.Duration(next.WaitMs) * time.Millisecond)
		return nil
	case next.Artifact != "":
		event := a2a.NewArtifactEvent(req, a2a.TextPart{Text: next.Artifact})
		event.LastChunk = true
		return queue.Write(ctx, event)
	}
	event := a2a.NewStatusUpdateEvent(req, next.State, said(req, next))
	event.Final = next.State != a2a.TaskStateWorking
	if next.Kind != "" {
		event.Metadata = map[string]any{p.extension: map[string]any{"kind": next.Kind, "model": "interop"}}
	}
	return queue.Write(ctx, event)
}

func said(req *a2asrv.RequestContext, next step) *a2a.Message {
	switch {
	case next.Text != "":
		return a2a.NewMessageForTask(a2a.MessageRoleAgent, req, a2a.TextPart{Text: next.Text})
	case next.Data != nil:
		return a2a.NewMessageForTask(a2a.MessageRoleAgent, req, a2a.DataPart{Data: next.Data})
	}
	return nil
}

func (p *player) Cancel(ctx context.Context, req *a2asrv.RequestContext, queue eventqueue.Queue) error {
	event := a2a.NewStatusUpdateEvent(req, a2a.TaskStateCanceled, nil)
	event.Final = true
	return queue.Write(ctx, event)
}

// claims reports whether the card claims a capability, or the extension.
func claims(name string) bool {
	value, set := os.LookupEnv("INTEROP_CLAIMS")
	return !set || slices.Contains(strings.Fields(value), name)
}

func main() {
	p := &player{extension: os.Getenv("INTEROP_EXTENSION")}
	script, err := os.ReadFile(os.Getenv("INTEROP_SCRIPT"))
	if err == nil {
		err = json.Unmarshal(script, &p.scripts)
	}
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	url := "http://" + listener.Addr().String()
	card := &a2a.AgentCard{
		Name:               "interop",
		Description:        "Plays what the interop tests ask for.",
		Version:            "1.0.0",
		URL:                url + "/",
		ProtocolVersion:    "0.3.0",
		PreferredTransport: a2a.TransportProtocolJSONRPC,
		DefaultInputModes:  []string{"text/plain"},
		DefaultOutputModes: []string{"text/plain"},
		Skills:             []a2a.AgentSkill{},
		Capabilities: a2a.AgentCapabilities{
			Streaming:         claims("streaming"),
			PushNotifications: claims("push"),
		},
	}
	if claims("extension") {
		card.Capabilities.Extensions = []a2a.AgentExtension{{URI: p.extension}}
	}
	var options []a2asrv.RequestHandlerOption
	if claims("push") {
		options = append(options, a2asrv.WithPushNotifications(push.NewInMemoryStore(), push.NewHTTPPushSender(nil)))
	}
	mux := http.NewServeMux()
	mux.Handle("/", a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(p, options...)))
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	fmt.Println(url)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	log.Fatal(http.Serve(listener, mux))
}
