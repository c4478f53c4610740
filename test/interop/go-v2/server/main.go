// An agent on the official Go SDK for A2A 1.0, in all its bindings.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/push"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
	"google.golang.org/grpc"
)

// step is one step of what the agent does; every server of the interop tests plays the same.
type step struct {
	State    string
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

func (p *player) Execute(ctx context.Context, call *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		script := "answer"
		if text, ok := call.Message.Parts[0].Content.(a2a.Text); ok {
			script = string(text)
		}
		steps := p.scripts[script]
		if len(steps) > 0 && steps[0].Message != "" {
			answer := a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(steps[0].Message))
			answer.ContextID = call.ContextID
			yield(answer, nil)
			return
		}
		if call.StoredTask == nil && !yield(a2a.NewSubmittedTask(call, call.Message), nil) {
			return
		}
		for _, next := range steps {
			if next.Hold {
				<-ctx.Done()
				yield(nil, ctx.Err())
				return
			}
			time.Sleep(time.Duration(next.WaitMs) * time.Millisecond)
			if next.WaitMs == 0 && !yield(p.event(call, next), nil) {
				return
			}
		}
	}
}

func (p *player) event(call *a2asrv.ExecutorContext, next step) a2a.Event {
	if next.Artifact != "" {
		event := a2a.NewArtifactEvent(call, a2a.NewTextPart(next.Artifact))
		event.LastChunk = true
		return event
	}
	state := "TASK_STATE_" + strings.ToUpper(strings.ReplaceAll(next.State, "-", "_"))
	event := a2a.NewStatusUpdateEvent(call, a2a.TaskState(state), said(call, next))
	if next.Kind != "" {
		event.Metadata = map[string]any{p.extension: map[string]any{"kind": next.Kind, "model": "interop"}}
	}
	return event
}

func said(call *a2asrv.ExecutorContext, next step) *a2a.Message {
	switch {
	case next.Text != "":
		return a2a.NewMessageForTask(a2a.MessageRoleAgent, call, a2a.NewTextPart(next.Text))
	case next.Data != nil:
		return a2a.NewMessageForTask(a2a.MessageRoleAgent, call, a2a.NewDataPart(next.Data))
	}
	return nil
}

func (p *player) Cancel(_ context.Context, call *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(call, a2a.TaskStateCanceled, nil), nil)
	}
}

func listen() net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	return listener
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
	web, rpc := listen(), listen()
	url := "http://" + web.Addr().String()
	card := &a2a.AgentCard{
		Name:               "interop",
		Description:        "Plays what the interop tests ask for.",
		Version:            "1.0.0",
		DefaultInputModes:  []string{"text/plain"},
		DefaultOutputModes: []string{"text/plain"},
		Skills:             []a2a.AgentSkill{},
		SupportedInterfaces: []*a2a.AgentInterface{
			a2a.NewAgentInterface(url+"/", a2a.TransportProtocolJSONRPC),
			a2a.NewAgentInterface(url+"/rest", a2a.TransportProtocolHTTPJSON),
			a2a.NewAgentInterface(rpc.Addr().String(), a2a.TransportProtocolGRPC),
		},
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
	handler := a2asrv.NewHandler(p, append(options, a2asrv.WithTaskStore(taskstore.NewInMemory(&taskstore.InMemoryStoreConfig{
		// Tasks are listed for a user: everybody is the same one.
		Authenticator: func(context.Context) (string, error) { return "anybody", nil },
	})))...)
	mux := http.NewServeMux()
	mux.Handle("/", a2asrv.NewJSONRPCHandler(handler))
	mux.Handle("/rest/", http.StripPrefix("/rest", a2asrv.NewRESTHandler(handler)))
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	server := grpc.NewServer()
	a2agrpc.NewHandler(handler).RegisterWith(server)
	go func() { log.Fatal(server.Serve(rpc)) }()
	fmt.Println(url)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	log.Fatal(http.Serve(web, mux))
}
