// Drives an agent with the official Go SDK, and tells a line of JSON for each scenario.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"
	"github.com/a2aproject/a2a-go/a2aclient/agentcard"
)

var extension = os.Getenv("INTEROP_EXTENSION")
var file = os.Getenv("INTEROP_FILE")

// headers are sent with each call.
type headers struct {
	a2aclient.PassthroughInterceptor
}

func (headers) Before(ctx context.Context, req *a2aclient.Request) (context.Context, error) {
	req.Meta["Authorization"] = []string{"Bearer " + os.Getenv("INTEROP_TOKEN")}
	if ctx.Value(withExtension{}) != nil {
		req.Meta["X-A2A-Extensions"] = []string{extension}
	}
	return ctx, nil
}

type withExtension struct{}

type player struct {
	card   *a2a.AgentCard
	client *a2aclient.Client
}

func (p *player) doCard(ctx context.Context) error {
	card, err := agentcard.DefaultResolver.Resolve(ctx, os.Getenv("INTEROP_URL"))
	if err != nil {
		return err
	}
	p.card = card
	for _, offered := range card.Capabilities.Extensions {
		if offered.URI == extension {
			p.client, err = a2aclient.NewFromCard(ctx, card, a2aclient.WithInterceptors(headers{}))
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
	if question == nil || !asked.final {
		return fmt.Errorf("asked nothing in %s", asked.state)
	}
	answer := message(a2a.DataPart{Data: map[string]any{
		"tool_call_id": question["tool_call_id"], "selected_option_id": "proceed_once",
	}})
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
	if again.ID != first.ID || declined.ID != asked.ID {
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
	canceled, err := p.client.CancelTask(ctx, &a2a.TaskIDParams{ID: id})
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
	for event, err := range p.client.ResubscribeToTask(ctx, &a2a.TaskIDParams{ID: id}) {
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
	if _, err := p.client.GetTask(ctx, &a2a.TaskQueryParams{ID: a2a.NewTaskID()}); !errors.Is(err, a2a.ErrTaskNotFound) {
		return fmt.Errorf("a task that is not there: %w", err)
	}
	done, err := p.send(ctx, text("text done"))
	if err != nil {
		return err
	}
	if _, err := p.client.CancelTask(ctx, &a2a.TaskIDParams{ID: done.ID}); !errors.Is(err, a2a.ErrTaskNotCancelable) {
		return fmt.Errorf("a cancel that comes late: %w", err)
	}
	if _, err := p.send(ctx, message()); !errors.Is(err, a2a.ErrInvalidParams) {
		return fmt.Errorf("a message without parts: %w", err)
	}
	return nil
}

func (p *player) doExtendedCard(ctx context.Context) error {
	card, err := p.client.GetAgentCard(ctx)
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
	hook := a2a.PushConfig{ID: "hook", URL: "https://93.184.215.14/hook", Token: "t"}
	if _, err := p.client.SetTaskPushConfig(ctx, &a2a.TaskPushConfig{TaskID: done.ID, Config: hook}); err != nil {
		return err
	}
	named := &a2a.GetTaskPushConfigParams{TaskID: done.ID, ConfigID: hook.ID}
	if got, err := p.client.GetTaskPushConfig(ctx, named); err != nil || got.Config.URL != hook.URL {
		return fmt.Errorf("got %v: %w", got, err)
	}
	all := &a2a.ListTaskPushConfigParams{TaskID: done.ID}
	if listed, err := p.client.ListTaskPushConfig(ctx, all); err != nil || len(listed) != 1 {
		return fmt.Errorf("listed %v: %w", listed, err)
	}
	if err := p.client.DeleteTaskPushConfig(ctx, &a2a.DeleteTaskPushConfigParams{TaskID: done.ID, ConfigID: hook.ID}); err != nil {
		return err
	}
	if left, err := p.client.ListTaskPushConfig(ctx, all); err != nil || len(left) != 0 {
		return fmt.Errorf("left %v: %w", left, err)
	}
	return nil
}

// told is what a stream told.
type told struct {
	taskID    a2a.TaskID
	contextID string
	state     a2a.TaskState
	final     bool
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
	t.state, t.final = event.Status.State, event.Final
	if own, ok := event.Metadata[extension].(map[string]any); ok {
		t.kinds = append(t.kinds, fmt.Sprint(own["kind"]))
	}
	if event.Status.Message == nil {
		return
	}
	for _, part := range event.Status.Message.Parts {
		if data, ok := part.(a2a.DataPart); ok && data.Data["tool_name"] != nil {
			t.calls = append(t.calls, data.Data)
		}
	}
}

func (p *player) stream(ctx context.Context, said *a2a.Message) (*told, error) {
	all := &told{}
	for event, err := range p.client.SendStreamingMessage(ctx, &a2a.MessageSendParams{Message: said}) {
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
	answer, err := p.client.SendMessage(ctx, &a2a.MessageSendParams{Message: said})
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
	for event, err := range p.client.SendStreamingMessage(ctx, &a2a.MessageSendParams{Message: text(prompt)}) {
		if err != nil {
			return "", err
		}
		return event.TaskInfo().TaskID, nil
	}
	return "", errors.New("no task began")
}

func (p *player) hasText(ctx context.Context, id a2a.TaskID, wanted string) error {
	task, err := p.client.GetTask(ctx, &a2a.TaskQueryParams{ID: id})
	if err != nil {
		return err
	}
	said := ""
	for _, message := range task.History {
		for _, part := range message.Parts {
			if content, ok := part.(a2a.TextPart); ok && message.Role == a2a.MessageRoleAgent {
				said += content.Text
			}
		}
	}
	if said != wanted {
		return fmt.Errorf("said %q", said)
	}
	return nil
}

func message(parts ...a2a.Part) *a2a.Message { return a2a.NewMessage(a2a.MessageRoleUser, parts...) }

func text(said string) *a2a.Message { return message(a2a.TextPart{Text: said}) }

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
		"push": p.doPush,
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
