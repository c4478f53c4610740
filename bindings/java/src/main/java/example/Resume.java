package example;

import com.devtool.v1alpha.Part;
import com.devtool.v1alpha.StreamMessageRequest;
import com.devtool.v1alpha.StreamMessageResponse;
import com.devtool.v1alpha.SubscribeTaskRequest;
import com.devtool.v1alpha.SubscribeTaskResponse;
import com.devtool.v1alpha.TaskEvent;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.net.URI;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;

/** Follows a task over connections that break: nothing is left out, and nothing comes twice. */
public final class Resume {
  /** How often in a row a stream may break without a new event. */
  private static final int ATTEMPTS = 5;

  /** With any other code, trying again does not help: a wrong token or a bad request stays wrong. */
  private static final Set<Status.Code> TRANSIENT =
      Set.of(Status.Code.UNAVAILABLE, Status.Code.CANCELLED, Status.Code.INTERNAL);

  private final URI url;
  private final String token;
  private ManagedChannel channel;
  /** The last event that came; null before the first one. */
  private TaskEvent last;

  private Resume(URI url, String token) {
    this.url = url;
    this.token = token;
    this.channel = open(url);
  }

  public static void main(String[] args) throws InterruptedException {
    var url = URI.create(System.getenv().getOrDefault("DEVTOOL_URL", "http://127.0.0.1:41242"));
    var resume = new Resume(url, System.getenv().getOrDefault("DEVTOOL_TOKEN", ""));
    var prompt = Part.newBuilder().setText("say 150\nwait 5\nsay 150").build();
    var count = new long[1];
    try {
      resume.send(Confirm.request("", List.of(prompt)), event -> {
        if (event.getSequence() != ++count[0])
          throw new IllegalStateException("event " + event.getSequence() + " came in place of event " + count[0]);
      });
    } finally {
      resume.channel.shutdownNow();
    }
    System.out.println("none left out, none twice");
  }

  private static ManagedChannel open(URI url) {
    return ManagedChannelBuilder.forAddress(url.getHost(), url.getPort()).usePlaintext().build();
  }

  /** Sends a message and passes on each event of its exchange, also over connections that break. */
  private void send(StreamMessageRequest request, Consumer<TaskEvent> take) throws InterruptedException {
    for (var failures = 0; ; failures++) {
      var before = last;
      // Leaving the context ends the stream, also one that is not read to its end.
      try (var attempt = Context.current().withCancellation()) {
        attempt.run(() -> receive(request, take));
        return;
      } catch (StatusRuntimeException broken) {
        if (last != before) failures = 0;
        if (!TRANSIENT.contains(broken.getStatus().getCode()) || failures == ATTEMPTS) throw broken;
      }
      // A channel of gRPC waits before it connects again, also when the stream made progress; a new one does not.
      channel.shutdownNow();
      channel = open(url);
      Thread.sleep(100L * failures);
    }
  }

  /** Sends the message while no event of it has come; afterwards subscribes to the events after the last one. */
  private void receive(StreamMessageRequest request, Consumer<TaskEvent> take) {
    var tasks = Confirm.connect(channel, token);
    // The same message under the same id is a retry: the server starts nothing twice.
    if (last == null) {
      follow(tasks.streamMessage(request), StreamMessageResponse::getEvent, take);
      return;
    }
    var after = SubscribeTaskRequest.newBuilder().setTaskId(last.getTaskId()).setAfterSequence(last.getSequence());
    follow(tasks.subscribeTask(after.build()), SubscribeTaskResponse::getEvent, take);
  }

  /** Reads a stream to the end of the exchange. */
  private <R> void follow(Iterator<R> stream, Function<R, TaskEvent> eventOf, Consumer<TaskEvent> take) {
    while (stream.hasNext()) {
      var event = eventOf.apply(stream.next());
      take.accept(event);
      last = event;
      if (endsExchange(event)) return;
    }
    throw Status.UNAVAILABLE.withDescription("the stream ended before the exchange").asRuntimeException();
  }

  /** Whether an event is the last of its exchange: the task waits for its user, or has ended. */
  private static boolean endsExchange(TaskEvent event) {
    return switch (event.getState()) {
      case TASK_STATE_SUBMITTED, TASK_STATE_WORKING -> false;
      default -> event.hasStateChange();
    };
  }
}
