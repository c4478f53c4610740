// Asks an agent to write a file, looks at what it wants to do, and allows it.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"net/http"
	"os"

	"connectrpc.com/connect"

	a2a "example.com/devtool/gen/devtool/a2a/v1alpha"
	devtool "example.com/devtool/gen/devtool/v1alpha"
	"example.com/devtool/gen/devtool/v1alpha/devtoolv1alphaconnect"
)

func main() {
	url := cmp.Or(os.Getenv("DEVTOOL_URL"), "http://127.0.0.1:41242")
	tasks := devtoolv1alphaconnect.NewTaskServiceClient(http.DefaultClient, url)
	if err := run(tasks); err != nil {
		log.Fatal(err)
	}
}

func run(tasks devtoolv1alphaconnect.TaskServiceClient) error {
	prompt := &devtool.Part{Content: &devtool.Part_Text{Text: "write hello-go.txt Hello from Go\ntext Written."}}
	asked, err := send(tasks, "", prompt)
	if err != nil {
		return err
	}
	var taskID string
	var questions []*a2a.ToolCall
	for asked.Receive() {
		event := asked.Msg().GetEvent()
		taskID = event.GetTaskId()
		call := event.GetToolCall()
		if call.GetStatus() == a2a.ToolCallStatus_PENDING && call.GetConfirmationRequest() != nil {
			questions = append(questions, call)
		}
	}
	if err := asked.Err(); err != nil {
		return err
	}

	var answers []*devtool.Part
	for _, call := range questions {
		edit := call.GetConfirmationRequest().GetFileEditDetails()
		fmt.Printf("%s wants to write %s: %s\n", call.GetToolName(), edit.GetFileName(), edit.GetNewContent())
		answers = append(answers, &devtool.Part{Content: &devtool.Part_Confirmation{
			Confirmation: &a2a.ToolCallConfirmation{ToolCallId: call.GetToolCallId(), SelectedOptionId: "proceed_once"},
		}})
	}

	answered, err := send(tasks, taskID, answers...)
	if err != nil {
		return err
	}
	for answered.Receive() {
		event := answered.Msg().GetEvent()
		switch payload := event.GetPayload().(type) {
		case *devtool.TaskEvent_Text:
			fmt.Println(payload.Text.GetText())
		case *devtool.TaskEvent_StateChange:
			fmt.Println(event.GetState())
		}
	}
	return answered.Err()
}

// send sends parts to a task, or starts one when taskID is empty.
func send(
	tasks devtoolv1alphaconnect.TaskServiceClient, taskID string, parts ...*devtool.Part,
) (*connect.ServerStreamForClient[devtool.StreamMessageResponse], error) {
	ctx, info := connect.NewClientContext(context.Background())
	info.RequestHeader().Set("Authorization", "Bearer "+os.Getenv("DEVTOOL_TOKEN"))
	return tasks.StreamMessage(ctx, &devtool.StreamMessageRequest{Request: &devtool.SendMessageRequest{
		TaskId:  taskID,
		Message: &devtool.Message{MessageId: rand.Text(), Parts: parts},
	}})
}
