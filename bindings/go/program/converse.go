package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"

	"connectrpc.com/connect"

	a2a "example.com/devtool/gen/devtool/a2a/v1alpha"
	conformance "example.com/devtool/gen/devtool/conformance/v1alpha"
	devtool "example.com/devtool/gen/devtool/v1alpha"
	"example.com/devtool/gen/devtool/v1alpha/devtoolv1alphaconnect"
)

// converse starts a task, answers its questions as it is told to, and follows it.
func converse(asked *conformance.Converse) (*conformance.Conversation, error) {
	ctx, info := connect.NewClientContext(context.Background())
	info.RequestHeader().Set("Authorization", "Bearer "+asked.GetToken())
	tasks := devtoolv1alphaconnect.NewTaskServiceClient(http.DefaultClient, asked.GetUrl())

	seen := &conformance.Conversation{}
	parts := []*devtool.Part{{Content: &devtool.Part_Text{Text: asked.GetPrompt()}}}
	answers := asked.GetAnswers()
	var taskID string
	for len(parts) > 0 {
		events, err := exchange(ctx, tasks, taskID, parts)
		if err != nil {
			return nil, err
		}
		seen.Events = append(seen.Events, events...)
		taskID = seen.GetEvents()[0].GetTaskId()
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

	got, err := tasks.GetTask(ctx, &devtool.GetTaskRequest{TaskId: taskID})
	seen.Task = got.GetTask()
	return seen, err
}

func exchange(
	ctx context.Context, tasks devtoolv1alphaconnect.TaskServiceClient, taskID string, parts []*devtool.Part,
) ([]*devtool.TaskEvent, error) {
	message := &devtool.Message{MessageId: rand.Text(), Parts: parts}
	request := &devtool.SendMessageRequest{Message: message, TaskId: taskID}
	stream, err := tasks.StreamMessage(ctx, &devtool.StreamMessageRequest{Request: request})
	if err != nil {
		return nil, err
	}
	var events []*devtool.TaskEvent
	for stream.Receive() {
		events = append(events, stream.Msg().GetEvent())
	}
	return events, stream.Err()
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
