// The program under test: see docs/test-kits.md.
package main

import (
	"bufio"
	"errors"
	"io"
	"log"
	"os"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	conformance "example.com/devtool/gen/devtool/conformance/v1alpha"
)

func main() {
	stdin := bufio.NewReader(os.Stdin)
	for {
		request := &conformance.ProgramRequest{}
		if err := protodelim.UnmarshalFrom(stdin, request); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		response, err := answer(request)
		if err != nil {
			response = &conformance.ProgramResponse{Outcome: &conformance.ProgramResponse_Refused{Refused: err.Error()}}
		}
		if _, err := protodelim.MarshalTo(os.Stdout, response); err != nil {
			log.Fatal(err)
		}
	}
}

func answer(request *conformance.ProgramRequest) (*conformance.ProgramResponse, error) {
	switch work := request.GetWork().(type) {
	case *conformance.ProgramRequest_ReadJson:
		binary, err := readJSON(work.ReadJson)
		return &conformance.ProgramResponse{Outcome: &conformance.ProgramResponse_Binary{Binary: binary}}, err
	case *conformance.ProgramRequest_ReadBinary:
		json, err := readBinary(work.ReadBinary)
		return &conformance.ProgramResponse{Outcome: &conformance.ProgramResponse_Json{Json: string(json)}}, err
	case *conformance.ProgramRequest_Converse:
		return conversed(work.Converse, 1)
	case *conformance.ProgramRequest_Resume:
		return conversed(work.Resume, 5)
	default:
		reason := "a kind of work that this program does not know"
		return &conformance.ProgramResponse{Outcome: &conformance.ProgramResponse_Unsupported{Unsupported: reason}}, nil
	}
}

func conversed(asked *conformance.Converse, tries int) (*conformance.ProgramResponse, error) {
	seen, err := converse(asked, tries)
	return &conformance.ProgramResponse{Outcome: &conformance.ProgramResponse_Conversation{Conversation: seen}}, err
}

func readJSON(asked *conformance.ReadJson) ([]byte, error) {
	message, err := newMessage(asked.GetType())
	if err != nil {
		return nil, err
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(asked.GetJson()), message); err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(message)
}

func readBinary(asked *conformance.ReadBinary) ([]byte, error) {
	message, err := newMessage(asked.GetType())
	if err != nil {
		return nil, err
	}
	if err := proto.Unmarshal(asked.GetBinary(), message); err != nil {
		return nil, err
	}
	return protojson.Marshal(message)
}

func newMessage(name string) (proto.Message, error) {
	found, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(name))
	if err != nil {
		return nil, err
	}
	return found.New().Interface(), nil
}
