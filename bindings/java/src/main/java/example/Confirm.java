package example;

import com.devtool.a2a.v1alpha.ToolCall;
import com.devtool.a2a.v1alpha.ToolCallConfirmation;
import com.devtool.a2a.v1alpha.ToolCallStatus;
import com.devtool.v1alpha.Message;
import com.devtool.v1alpha.Part;
import com.devtool.v1alpha.SendMessageRequest;
import com.devtool.v1alpha.StreamMessageRequest;
import com.devtool.v1alpha.TaskServiceGrpc;
import com.devtool.v1alpha.TaskServiceGrpc.TaskServiceBlockingStub;
import io.grpc.Channel;
import io.grpc.ManagedChannelBuilder;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/** Asks an agent to write a file, looks at what it wants to do, and allows it. */
public final class Confirm {
  public static void main(String[] args) {
    var url = URI.create(System.getenv().getOrDefault("DEVTOOL_URL", "http://127.0.0.1:41242"));
    var channel = ManagedChannelBuilder.forAddress(url.getHost(), url.getPort()).usePlaintext().build();
    try {
      run(connect(channel, System.getenv().getOrDefault("DEVTOOL_TOKEN", "")));
    } finally {
      channel.shutdownNow();
    }
  }

  static TaskServiceBlockingStub connect(Channel channel, String token) {
    return TaskServiceGrpc.newBlockingStub(channel).withCallCredentials(new BearerToken(token));
  }

  private static void run(TaskServiceBlockingStub tasks) {
    var prompt = Part.newBuilder().setText("write hello-java.txt Hello from Java\ntext Written.").build();
    var taskId = "";
    List<ToolCall> questions = new ArrayList<>();
    for (var asked = tasks.streamMessage(request("", List.of(prompt))); asked.hasNext(); ) {
      var event = asked.next().getEvent();
      taskId = event.getTaskId();
      var call = event.getToolCall();
      if (call.getStatus() == ToolCallStatus.PENDING && call.hasConfirmationRequest()) questions.add(call);
    }

    List<Part> answers = new ArrayList<>();
    for (var call : questions) {
      var edit = call.getConfirmationRequest().getFileEditDetails();
      System.out.printf("%s wants to write %s: %s%n", call.getToolName(), edit.getFileName(), edit.getNewContent());
      var answer = ToolCallConfirmation.newBuilder()
          .setToolCallId(call.getToolCallId())
          .setSelectedOptionId("proceed_once");
      answers.add(Part.newBuilder().setConfirmation(answer).build());
    }

    for (var answered = tasks.streamMessage(request(taskId, answers)); answered.hasNext(); ) {
      var event = answered.next().getEvent();
      switch (event.getPayloadCase()) {
        case TEXT -> System.out.println(event.getText().getText());
        case STATE_CHANGE -> System.out.println(event.getState());
        default -> {}
      }
    }
  }

  static StreamMessageRequest request(String taskId, List<Part> parts) {
    var message = Message.newBuilder().setMessageId(UUID.randomUUID().toString()).addAllParts(parts);
    var send = SendMessageRequest.newBuilder().setTaskId(taskId).setMessage(message);
    return StreamMessageRequest.newBuilder().setRequest(send).build();
  }
}
