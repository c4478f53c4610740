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
import com.devtool.v1alpha.StreamMessageRequest;
import com.devtool.v1alpha.StreamMessageResponse;
import com.devtool.v1alpha.SubscribeTaskRequest;
import com.devtool.v1alpha.SubscribeTaskResponse;
import com.devtool.v1alpha.TaskEvent;
import com.devtool.v1alpha.TaskServiceGrpc.TaskServiceBlockingStub;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.net.URI;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** Starts a task, answers its questions as it is told to, and follows it until it waits for nobody. */
final class Conversations {
  private final Converse asked;
  private final int tries;
  private ManagedChannel channel;
  private TaskServiceBlockingStub tasks;

  private Conversations(Converse asked, int tries) {
    this.asked = asked;
    this.tries = tries;
    connect();
  }

  /** Converses with a server. A connection that breaks is resumed, up to the maximum number of attempts. */
  static Conversation converse(Converse asked, int tries) {
    var one = new Conversations(asked, tries);
    try {
      return one.converse();
    } finally {
      one.channel.shutdownNow();
    }
  }

  private void connect() {
    var url = URI.create(asked.getUrl());
    channel = ManagedChannelBuilder.forAddress(url.getHost(), url.getPort()).usePlaintext().build();
    tasks = Confirm.connect(channel, asked.getToken());
  }

  private Conversation converse() {
    var answers = asked.getAnswersList().iterator();
    var seen = Conversation.newBuilder();
    var taskId = "";
    var parts = List.of(Part.newBuilder().setText(asked.getPrompt()).build());
    while (!parts.isEmpty()) {
      seen.addAllEvents(exchange(Confirm.request(taskId, parts)));
      taskId = seen.getEvents(0).getTaskId();
      parts = openQuestions(seen.getEventsList()).stream().map(call -> confirmation(call, answers.next())).toList();
    }
    var wanted = GetTaskRequest.newBuilder().setTaskId(taskId).build();
    repeated(() -> seen.setTask(tasks.getTask(wanted).getTask()));
    return seen.build();
  }

  /** Sends a message; gives the events that it sets off. */
  private List<TaskEvent> exchange(StreamMessageRequest request) {
    List<TaskEvent> events = new ArrayList<>();
    repeated(() -> {
      // The same message under the same id is a retry, and starts nothing anew.
      if (events.isEmpty()) receive(tasks.streamMessage(request), StreamMessageResponse::getEvent, events);
      else receive(tasks.subscribeTask(after(events.get(events.size() - 1))), SubscribeTaskResponse::getEvent, events);
    });
    return events;
  }

  /** Runs again, over a new connection, what was broken off. */
  private void repeated(Runnable run) {
    for (var left = tries; ; left--) {
      // Ends the calls in it, also those that are not read to their end.
      try (var attempt = Context.current().withCancellation()) {
        attempt.run(run);
        return;
      } catch (StatusRuntimeException broken) {
        if (left <= 1) throw broken;
        // The old channel would let the next call fail for a while, in place of making a connection.
        channel.shutdownNow();
        connect();
      }
    }
  }

  private static SubscribeTaskRequest after(TaskEvent last) {
    return SubscribeTaskRequest.newBuilder().setTaskId(last.getTaskId()).setAfterSequence(last.getSequence()).build();
  }

  /** Adds the events of a stream, up to the one that ends the exchange. */
  private static <R> void receive(Iterator<R> stream, Function<R, TaskEvent> eventOf, List<TaskEvent> events) {
    while (stream.hasNext()) {
      var event = eventOf.apply(stream.next());
      events.add(event);
      if (endsExchange(event)) return;
    }
    throw Status.UNAVAILABLE.withDescription("the stream ended before the exchange").asRuntimeException();
  }

  private static boolean endsExchange(TaskEvent event) {
    return switch (event.getState()) {
      case TASK_STATE_SUBMITTED, TASK_STATE_WORKING -> false;
      default -> event.hasStateChange();
    };
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
