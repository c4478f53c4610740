// Follows a task over connections that break: nothing is left out, and nothing comes twice.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"connectrpc.com/connect"

	devtool "example.com/devtool/gen/devtool/v1alpha"
	"example.com/devtool/gen/devtool/v1alpha/devtoolv1alphaconnect"
)

// attempts is how often in a row a stream may break without a new event.
const attempts = 5

func main() {
	url := cmp.Or(os.Getenv("DEVTOOL_URL"), "http://127.0.0.1:41242")
	ctx, info := connect.NewClientContext(context.Background())
	info.RequestHeader().Set("Authorization", "Bearer "+os.Getenv("DEVTOOL_TOKEN"))
	tasks := devtoolv1alphaconnect.NewTaskServiceClient(http.DefaultClient, url)

	var last int64
	prompt := &devtool.Part{Content: &devtool.Part_Text{Text: "say 150\nwait 5\nsay 150"}}
	err := send(ctx, tasks, "", []*devtool.Part{prompt}, func(event *devtool.TaskEvent) {
		if event.GetSequence() != last+1 {
			log.Fatalf("event %d follows event %d", event.GetSequence(), last)
		}
		last = event.GetSequence()
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("none left out, none twice")
}

// send sends a message and calls take with each event of its exchange, also over connections that break.
func send(
	ctx context.Context, tasks devtoolv1alphaconnect.TaskServiceClient, taskID string, parts []*devtool.Part,
	take func(*devtool.TaskEvent),
) error {
	// The same message under the same id is a retry: the server starts nothing twice.
	message := &devtool.Message{MessageId: rand.Text(), Parts: parts}
	request := &devtool.StreamMessageRequest{Request: &devtool.SendMessageRequest{Message: message, TaskId: taskID}}
	var last *devtool.TaskEvent
	for failures := 0; ; failures++ {
		before := last
		err := receive(ctx, tasks, request, &last, take)
		if err == nil || ctx.Err() != nil || isFinal(err) {
			return err
		}
		if last != before {
			failures = 0
		}
		if failures == attempts {
			return err
		}
		time.Sleep(100 * time.Millisecond << failures)
	}
}

// receive opens a stream, of the message while no event of it has come, else of the events after the last one, and reads it up
// to the end of the exchange.
func receive(
	ctx context.Context, tasks devtoolv1alphaconnect.TaskServiceClient, request *devtool.StreamMessageRequest,
	last **devtool.TaskEvent, take func(*devtool.TaskEvent),
) error {
	// Leaving this function ends the stream.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	next, err := open(ctx, tasks, request, *last)
	if err != nil {
		return err
	}
	for {
		event, err := next()
		if err != nil {
			return err
		}
		take(event)
		*last = event
		if endsExchange(event) {
			return nil
		}
	}
}

// open returns a function that gives the next event of a stream, or io.ErrUnexpectedEOF after the last one.
func open(
	ctx context.Context, tasks devtoolv1alphaconnect.TaskServiceClient, request *devtool.StreamMessageRequest,
	last *devtool.TaskEvent,
) (func() (*devtool.TaskEvent, error), error) {
	if last == nil {
		stream, err := tasks.StreamMessage(ctx, request)
		if err != nil {
			return nil, err
		}
		return func() (*devtool.TaskEvent, error) {
			if !stream.Receive() {
				return nil, cmp.Or(stream.Err(), io.ErrUnexpectedEOF)
			}
			return stream.Msg().GetEvent(), nil
		}, nil
	}
	after := &devtool.SubscribeTaskRequest{TaskId: last.GetTaskId(), AfterSequence: last.GetSequence()}
	stream, err := tasks.SubscribeTask(ctx, after)
	if err != nil {
		return nil, err
	}
	return func() (*devtool.TaskEvent, error) {
		if !stream.Receive() {
			return nil, cmp.Or(stream.Err(), io.ErrUnexpectedEOF)
		}
		return stream.Msg().GetEvent(), nil
	}, nil
}

// endsExchange reports whether an event is the last of its exchange: the task waits for its user, or has ended.
func endsExchange(event *devtool.TaskEvent) bool {
	isAtWork := event.GetState() == devtool.TaskState_TASK_STATE_SUBMITTED ||
		event.GetState() == devtool.TaskState_TASK_STATE_WORKING
	return event.GetStateChange() != nil && !isAtWork
}

// isFinal reports whether trying again cannot help: a wrong token or a bad request stays wrong.
func isFinal(err error) bool {
	var failure *connect.Error
	if !errors.As(err, &failure) {
		return false
	}
	switch failure.Code() {
	case connect.CodeUnauthenticated, connect.CodePermissionDenied, connect.CodeInvalidArgument, connect.CodeNotFound,
		connect.CodeAlreadyExists, connect.CodeFailedPrecondition:
		return true
	default:
		return false
	}
}
