package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"

	"connectrpc.com/connect"

	a2a "example.com/devtool/gen/devtool/a2a/v1alpha"
	conformance "example.com/devtool/gen/devtool/conformance/v1alpha"
	devtool "example.com/devtool/gen/devtool/v1alpha"
	"example.com/devtool/gen/devtool/v1alpha/devtoolv1alphaconnect"
)

// converse starts a task, answers its questions as it is told to, and follows it until it waits for nobody. A connection
// that breaks is resumed, up to the maximum number of attempts.
func converse(asked *conformance.Converse, tries int) (*conformance.Conversation, error) {
	ctx, info := connect.NewClientContext(context.Background())
	info.RequestHeader().Set("Authorization", "Bearer "+asked.GetToken())
	tasks := devtoolv1alphaconnect.NewTaskServiceClient(http.DefaultClient, asked.GetUrl())

	seen := &conformance.Conversation{}
	parts := []*devtool.Part{{Content: &devtool.Part_Text{Text: asked.GetPrompt()}}}
	answers := asked.GetAnswers()
	var taskID string
	for len(parts) > 0 {
		message := &devtool.Message{MessageId: rand.Text(), Parts: parts}
		sent := &exchange{tasks: tasks, request: &devtool.SendMessageRequest{Message: message, TaskId: taskID}}
		if err := repeat(tries, func() error { return sent.follow(ctx) }); err != nil {
			return nil, err
		}
		seen.Events = append(seen.Events, sent.events...)
		taskID = sent.events[0].GetTaskId()
		open := openQuestions(seen.GetEvents())
		if len(open) > len(answers) {
			return nil, fmt.Errorf("no answer for the question of %s", open[len(answers)].GetToolCallId())
		}
		parts = nil
		for index, call := range open {
			parts = append(parts, confirmation(call, answers[index]))
		}
		answers = answers[len(open):]
	}

	err := repeat(tries, func() error {
		got, err := tasks.GetTask(ctx, &devtool.GetTaskRequest{TaskId: taskID})
		seen.Task = got.GetTask()
		return err
	})
	return seen, err
}

// repeat runs again what was broken off.
func repeat(tries int, run func() error) (err error) {
	for range tries {
		if err = run(); err == nil {
			return nil
		}
	}
	return err
}

// exchange is a message, and the events that it sets off as far as they have come.
type exchange struct {
	tasks   devtoolv1alphaconnect.TaskServiceClient
	request *devtool.SendMessageRequest
	events  []*devtool.TaskEvent
}

// follow adds the events: all of them, or those after the last that has come.
func (e *exchange) follow(ctx context.Context) error {
	if len(e.events) == 0 {
		// The same message under the same id is a retry, and starts nothing anew.
		stream, err := e.tasks.StreamMessage(ctx, &devtool.StreamMessageRequest{Request: e.request})
		if err != nil {
			return err
		}
		return receive(e, stream)
	}
	last := e.events[len(e.events)-1]
	stream, err := e.tasks.SubscribeTask(ctx, &devtool.SubscribeTaskRequest{
		TaskId:        last.GetTaskId(),
		AfterSequence: last.GetSequence(),
	})
	if err != nil {
		return err
	}
	return receive(e, stream)
}

// response is a pointer to what a stream sends one event in.
type response[R any] interface {
	*R
	GetEvent() *devtool.TaskEvent
}

// receive adds the events of a stream, up to the one that ends the exchange.
func receive[R any, Response response[R]](e *exchange, stream *connect.ServerStreamForClient[R]) error {
	defer stream.Close()
	for stream.Receive() {
		event := Response(stream.Msg()).GetEvent()
		e.events = append(e.events, event)
		if endsExchange(event) {
			return nil
		}
	}
	return cmp.Or(stream.Err(), io.ErrUnexpectedEOF)
}

func endsExchange(event *devtool.TaskEvent) bool {
	switch event.GetState() {
	case devtool.TaskState_TASK_STATE_SUBMITTED, devtool.TaskState_TASK_STATE_WORKING:
		return false
	default:
		return event.GetStateChange() != nil
	}
}

// openQuestions lists the calls whose last form asks.
func openQuestions(events []*devtool.TaskEvent) []*a2a.ToolCall {
	last := map[string]*a2a.ToolCall{}
	var order []string
	for _, event := range events {
		if call := event.GetToolCall(); call != nil {
			if last[call.GetToolCallId()] == nil {
				order = append(order, call.GetToolCallId())
			}
			last[call.GetToolCallId()] = call
		}
	}
	var open []*a2a.ToolCall
	for _, id := range order {
		if call := last[id]; call.GetStatus() == a2a.ToolCallStatus_PENDING && call.GetConfirmationRequest() != nil {
			open = append(open, call)
		}
	}
	return open
}

func confirmation(call *a2a.ToolCall, answer *conformance.Answer) *devtool.Part {
	confirmation := &a2a.ToolCallConfirmation{ToolCallId: call.GetToolCallId(), SelectedOptionId: answer.GetOptionId()}
	if answer.NewContent != nil {
		details := &a2a.ModifiedFileDetails{NewContent: answer.GetNewContent()}
		confirmation.ModifiedDetails = &a2a.ToolCallConfirmation_FileDetails{FileDetails: details}
	}
	return &devtool.Part{Content: &devtool.Part_Confirmation{Confirmation: confirmation}}
}
