package example;

import com.devtool.a2a.v1alpha.ModifiedFileDetails;
import com.devtool.a2a.v1alpha.ToolCall;
import com.devtool.a2a.v1alpha.ToolCallConfirmation;
import com.devtool.a2a.v1alpha.ToolCallStatus;
import com.devtool.conformance.v1alpha.Answer;
import com.devtool.conformance.v1alpha.Conversation;
import com.devtool.conformance.v1alpha.Converse;
import com.devtool.v1alpha.GetTaskRequest;
import com.devtool.v1alpha.Part;
import com.devtool.v1alpha.TaskEvent;
import io.grpc.ManagedChannelBuilder;
import java.net.URI;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Starts tasks, answers their questions as it is told to, and follows them. */
final class Conversations {
  static Conversation converse(Converse asked) {
    var url = URI.create(asked.getUrl());
    var channel = ManagedChannelBuilder.forAddress(url.getHost(), url.getPort()).usePlaintext().build();
    try {
      var tasks = Confirm.connect(channel, asked.getToken());
      var answers = asked.getAnswersList().iterator();
      var seen = Conversation.newBuilder();
      var taskId = "";
      var parts = List.of(Part.newBuilder().setText(asked.getPrompt()).build());
      while (!parts.isEmpty()) {
        var events = tasks.streamMessage(Confirm.request(taskId, parts));
        while (events.hasNext()) seen.addEvents(events.next().getEvent());
        taskId = seen.getEvents(0).getTaskId();
        parts = openQuestions(seen.getEventsList()).stream().map(call -> confirmation(call, answers.next())).toList();
      }
      return seen.setTask(tasks.getTask(GetTaskRequest.newBuilder().setTaskId(taskId).build()).getTask()).build();
    } finally {
      channel.shutdownNow();
    }
  }

  /** The calls whose last form asks. */
  private static List<ToolCall> openQuestions(List<TaskEvent> events) {
    Map<String, ToolCall> calls = new LinkedHashMap<>();
    for (var event : events) if (event.hasToolCall()) calls.put(event.getToolCall().getToolCallId(), event.getToolCall());
    return calls.values().stream()
        .filter(call -> call.getStatus() == ToolCallStatus.PENDING && call.hasConfirmationRequest())
        .toList();
  }

  private static Part confirmation(ToolCall call, Answer answer) {
    var confirmation = ToolCallConfirmation.newBuilder()
        .setToolCallId(call.getToolCallId())
        .setSelectedOptionId(answer.getOptionId());
    if (answer.hasNewContent())
      confirmation.setFileDetails(ModifiedFileDetails.newBuilder().setNewContent(answer.getNewContent()));
    return Part.newBuilder().setConfirmation(confirmation).build();
  }
}
