// Drives an agent with the official Go SDK for A2A 1.0, and tells a line of JSON for each scenario.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

var extension = os.Getenv("INTEROP_EXTENSION")
var file = os.Getenv("INTEROP_FILE")

// headers are sent with each call.
type headers struct {
	a2aclient.PassthroughInterceptor
}

func (headers) Before(ctx context.Context, req *a2aclient.Request) (context.Context, any, error) {
	req.ServiceParams.Append("authorization", "Bearer "+os.Getenv("INTEROP_TOKEN"))
	if ctx.Value(withExtension{}) != nil {
		req.ServiceParams.Append("a2a-extensions", extension)
	}
	return ctx, nil, nil
}

type withExtension struct{}

type player struct {
	card   *a2a.AgentCard
	client *a2aclient.Client
}

// withoutRequirements reads a card as if it did not say which credentials it wants: this SDK cannot read that
// (a2aproject/a2a-go#430).
func withoutRequirements(text []byte) (*a2a.AgentCard, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	delete(fields, "securityRequirements")
	rest, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	return agentcard.DefaultCardParser(rest)
}

// doCard reads the card, and leaves one of its interfaces to choose from. What it cannot read fails it, and is left out
// for the scenarios that follow.
func (p *player) doCard(ctx context.Context) error {
	url := os.Getenv("INTEROP_URL")
	card, unread := agentcard.DefaultResolver.Resolve(ctx, url)
	if unread != nil {
		resolver := agentcard.Resolver{Client: http.DefaultClient, CardParser: withoutRequirements}
		read, err := resolver.Resolve(ctx, url)
		if err != nil {
			return err
		}
		card = read
	}
	return errors.Join(unread, p.connect(ctx, card))
}

func (p *player) connect(ctx context.Context, card *a2a.AgentCard) (err error) {
	p.card = card
	var fitting []*a2a.AgentInterface
	for _, offer := range card.SupportedInterfaces {
		isBinding := string(offer.ProtocolBinding) == os.Getenv("INTEROP_BINDING")
		if isBinding && strings.HasPrefix(string(offer.ProtocolVersion), os.Getenv("INTEROP_PROTOCOL")) {
			fitting = append(fitting, offer)
		}
	}
	card.SupportedInterfaces = fitting
	for _, offered := range card.Capabilities.Extensions {
		if offered.URI == extension {
			dial := a2agrpc.WithGRPCTransport(grpc.WithTransportCredentials(insecure.NewCredentials()))
			p.client, err = a2aclient.NewFromCard(ctx, card, dial, a2aclient.WithCallInterceptors(headers{}))
			return err
		}
	}
	return errors.New("the card does not list the extension")
}

func (p *player) doMessage(ctx context.Context) error {
	task, err := p.send(ctx, text("text hello there"))
	if err != nil {
		return err
	}
	return errors.Join(isIn(task.Status.State, a2a.TaskStateCompleted), p.hasText(ctx, task.ID, "hello there"))
}

func (p *player) doAppendixA(ctx context.Context) error {
	ctx = context.WithValue(ctx, withExtension{}, true)
	asked, err := p.stream(ctx, text("think\nwrite "+file+" made\ntext Done."))
	if err != nil {
		return err
	}
	kinds := strings.Join(asked.kinds, " ")
	if !strings.Contains(kinds, "THOUGHT") || !strings.Contains(kinds, "TOOL_CALL_UPDATE") {
		return fmt.Errorf("kinds: %s", kinds)
	}
	question := asked.question()
	if question == nil || asked.state != a2a.TaskStateInputRequired {
		return fmt.Errorf("asked nothing in %s", asked.state)
	}
	answer := message(a2a.NewDataPart(map[string]any{
		"tool_call_id": question["tool_call_id"], "selected_option_id": "proceed_once",
	}))
	answer.TaskID, answer.ContextID = asked.taskID, asked.contextID
	done, err := p.stream(ctx, answer)
	if err != nil {
		return err
	}
	if last := done.calls[len(done.calls)-1]; last["status"] != "SUCCEEDED" {
		return fmt.Errorf("call is %v", last["status"])
	}
	return isIn(done.state, a2a.TaskStateCompleted)
}

// doContinued sees another task of the conversation go on where one has ended (STREAM-5), and the same where one asks.
func (p *player) doContinued(ctx context.Context) error {
	first, err := p.send(ctx, text("text one"))
	if err != nil {
		return err
	}
	again, err := p.send(ctx, on(first, text("text two")))
	if err != nil {
		return err
	}
	asked, err := p.send(ctx, text("write "+file+"-no nothing"))
	if err != nil {
		return err
	}
	declined, err := p.send(ctx, on(asked, text("no")))
	if err != nil {
		return err
	}
	if again.ContextID != first.ContextID || again.ID == first.ID || declined.ID != asked.ID {
		return errors.New("another task went on")
	}
	return errors.Join(
		isIn(again.Status.State, a2a.TaskStateCompleted),
		isIn(asked.Status.State, a2a.TaskStateInputRequired),
		isIn(declined.Status.State, a2a.TaskStateCompleted),
	)
}

func (p *player) doCancel(ctx context.Context) error {
	id, err := p.start(ctx, "wait 60000")
	if err != nil {
		return err
	}
	canceled, err := p.client.CancelTask(ctx, &a2a.CancelTaskRequest{ID: id})
	if err != nil {
		return err
	}
	return isIn(canceled.Status.State, a2a.TaskStateCanceled)
}

func (p *player) doResume(ctx context.Context) error {
	id, err := p.start(ctx, "wait 2000\ntext late")
	if err != nil {
		return err
	}
	var state a2a.TaskState
	for event, err := range p.client.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: id}) {
		if err != nil {
			return err
		}
		switch e := event.(type) {
		case *a2a.Task:
			state = e.Status.State
		case *a2a.TaskStatusUpdateEvent:
			state = e.Status.State
		}
	}
	return errors.Join(isIn(state, a2a.TaskStateCompleted), p.hasText(ctx, id, "late"))
}

func (p *player) doErrors(ctx context.Context) error {
	if _, err := p.client.GetTask(ctx, &a2a.GetTaskRequest{ID: a2a.NewTaskID()}); !errors.Is(err, a2a.ErrTaskNotFound) {
		return fmt.Errorf("a task that is not there: %w", err)
	}
	done, err := p.send(ctx, text("text done"))
	if err != nil {
		return err
	}
	_, err = p.client.CancelTask(ctx, &a2a.CancelTaskRequest{ID: done.ID})
	if !errors.Is(err, a2a.ErrTaskNotCancelable) {
		return fmt.Errorf("a cancel that comes late: %w", err)
	}
	if _, err := p.send(ctx, message()); !errors.Is(err, a2a.ErrInvalidParams) {
		return fmt.Errorf("a message without parts: %w", err)
	}
	return nil
}

func (p *player) doExtendedCard(ctx context.Context) error {
	card, err := p.client.GetExtendedAgentCard(ctx, &a2a.GetExtendedAgentCardRequest{})
	if err != nil {
		return err
	}
	for _, skill := range card.Skills {
		if skill.Name == "/help" {
			return nil
		}
	}
	return errors.New("the card lists no slash commands")
}

func (p *player) doPush(ctx context.Context) error {
	done, err := p.send(ctx, text("text done"))
	if err != nil {
		return err
	}
	hook := &a2a.PushConfig{TaskID: done.ID, ID: "hook", URL: "https://93.184.215.14/hook", Token: "t"}
	if _, err := p.client.CreateTaskPushConfig(ctx, hook); err != nil {
		return err
	}
	got, err := p.client.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigRequest{TaskID: done.ID, ID: hook.ID})
	if err != nil || got.URL != hook.URL {
		return fmt.Errorf("got %v: %w", got, err)
	}
	all := &a2a.ListTaskPushConfigRequest{TaskID: done.ID}
	if listed, err := p.client.ListTaskPushConfigs(ctx, all); err != nil || len(listed) != 1 {
		return fmt.Errorf("listed %v: %w", listed, err)
	}
	named := &a2a.DeleteTaskPushConfigRequest{TaskID: done.ID, ID: hook.ID}
	if err := p.client.DeleteTaskPushConfig(ctx, named); err != nil {
		return err
	}
	if left, err := p.client.ListTaskPushConfigs(ctx, all); err != nil || len(left) != 0 {
		return fmt.Errorf("left %v: %w", left, err)
	}
	return nil
}

// notification is what came in at the webhook.
type notification struct {
	token string
	event a2a.StreamResponse
	err   error
}

// doNotified asks for notifications beside a message, and reads those that come until one tells the end of the task.
func (p *player) doNotified(ctx context.Context) error {
	hook := os.Getenv("INTEROP_HOOK")
	posts := make(chan notification, 100)
	listener, err := net.Listen("tcp", hook)
	if err != nil {
		return err
	}
	defer listener.Close()
	go http.Serve(listener, http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		next := notification{token: req.Header.Get("X-A2A-Notification-Token")}
		next.err = json.NewDecoder(req.Body).Decode(&next.event)
		posts <- next
	}))
	answer, err := p.client.SendMessage(ctx, &a2a.SendMessageRequest{
		Message: text("text told"),
		Config:  &a2a.SendMessageConfig{PushConfig: &a2a.PushConfig{URL: "http://" + hook + "/", Token: "t"}},
	})
	if err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case next := <-posts:
			if next.err != nil || next.token != "t" || next.event.TaskInfo().TaskID != answer.TaskInfo().TaskID {
				return fmt.Errorf("was told %v with token %q: %w", next.event, next.token, next.err)
			}
			update, isUpdate := next.event.Event.(*a2a.TaskStatusUpdateEvent)
			if isUpdate && update.Status.State == a2a.TaskStateCompleted {
				return nil
			}
		}
	}
}

// told is what a stream told.
type told struct {
	taskID    a2a.TaskID
	contextID string
	state     a2a.TaskState
	kinds     []string
	calls     []map[string]any
}

func (t *told) question() map[string]any {
	for i := len(t.calls) - 1; i >= 0; i-- {
		if t.calls[i]["confirmation_request"] != nil {
			return t.calls[i]
		}
	}
	return nil
}

func (t *told) add(event *a2a.TaskStatusUpdateEvent) {
	t.taskID, t.contextID = event.TaskID, event.ContextID
	t.state = event.Status.State
	if own, ok := event.Metadata[extension].(map[string]any); ok {
		t.kinds = append(t.kinds, fmt.Sprint(own["kind"]))
	}
	if event.Status.Message == nil {
		return
	}
	for _, part := range event.Status.Message.Parts {
		if data, ok := part.Data().(map[string]any); ok && data["tool_name"] != nil {
			t.calls = append(t.calls, data)
		}
	}
}

func (p *player) stream(ctx context.Context, said *a2a.Message) (*told, error) {
	all := &told{}
	for event, err := range p.client.SendStreamingMessage(ctx, &a2a.SendMessageRequest{Message: said}) {
		if err != nil {
			return nil, err
		}
		if update, ok := event.(*a2a.TaskStatusUpdateEvent); ok {
			all.add(update)
		}
	}
	return all, nil
}

func (p *player) send(ctx context.Context, said *a2a.Message) (*a2a.Task, error) {
	answer, err := p.client.SendMessage(ctx, &a2a.SendMessageRequest{Message: said})
	if err != nil {
		return nil, err
	}
	task, ok := answer.(*a2a.Task)
	if !ok {
		return nil, errors.New("the answer is not a task")
	}
	return task, nil
}

// start starts a task that stays at work, and goes away.
func (p *player) start(ctx context.Context, prompt string) (a2a.TaskID, error) {
	for event, err := range p.client.SendStreamingMessage(ctx, &a2a.SendMessageRequest{Message: text(prompt)}) {
		if err != nil {
			return "", err
		}
		return event.TaskInfo().TaskID, nil
	}
	return "", errors.New("no task began")
}

func (p *player) hasText(ctx context.Context, id a2a.TaskID, wanted string) error {
	task, err := p.client.GetTask(ctx, &a2a.GetTaskRequest{ID: id})
	if err != nil {
		return err
	}
	said := ""
	for _, message := range task.History {
		for _, part := range message.Parts {
			if message.Role == a2a.MessageRoleAgent {
				said += part.Text()
			}
		}
	}
	if said != wanted {
		return fmt.Errorf("said %q", said)
	}
	return nil
}

func message(parts ...*a2a.Part) *a2a.Message { return a2a.NewMessage(a2a.MessageRoleUser, parts...) }

func text(said string) *a2a.Message { return message(a2a.NewTextPart(said)) }

func on(task *a2a.Task, said *a2a.Message) *a2a.Message {
	said.TaskID, said.ContextID = task.ID, task.ContextID
	return said
}

func isIn(state, wanted a2a.TaskState) error {
	if state != wanted {
		return fmt.Errorf("is %s", state)
	}
	return nil
}

func main() {
	p := &player{}
	scenarios := map[string]func(context.Context) error{
		"card": p.doCard, "message": p.doMessage, "appendix_a": p.doAppendixA, "continued": p.doContinued,
		"cancel": p.doCancel, "resume": p.doResume, "errors": p.doErrors, "extended_card": p.doExtendedCard,
		"push": p.doPush, "notified": p.doNotified,
	}
	out := json.NewEncoder(os.Stdout)
	for _, name := range append([]string{"card"}, os.Args[1:]...) {
		run := scenarios[name]
		if run == nil || (name == "push" && !p.card.Capabilities.PushNotifications) {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		result := map[string]any{"scenario": name, "ok": true}
		if err := run(ctx); err != nil {
			result["ok"], result["reason"] = false, err.Error()
		}
		cancel()
		_ = out.Encode(result)
	}
}
