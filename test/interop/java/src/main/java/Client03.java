import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.a2a.A2A;
import io.a2a.client.Client;
import io.a2a.client.ClientEvent;
import io.a2a.client.TaskEvent;
import io.a2a.client.TaskUpdateEvent;
import io.a2a.client.config.ClientConfig;
import io.a2a.client.transport.jsonrpc.JSONRPCTransport;
import io.a2a.client.transport.jsonrpc.JSONRPCTransportConfigBuilder;
import io.a2a.client.transport.rest.RestTransport;
import io.a2a.client.transport.rest.RestTransportConfigBuilder;
import io.a2a.client.transport.spi.interceptors.ClientCallContext;
import io.a2a.client.transport.spi.interceptors.ClientCallInterceptor;
import io.a2a.client.transport.spi.interceptors.PayloadAndHeaders;
import io.a2a.spec.AgentCard;
import io.a2a.spec.DataPart;
import io.a2a.spec.DeleteTaskPushNotificationConfigParams;
import io.a2a.spec.GetTaskPushNotificationConfigParams;
import io.a2a.spec.InvalidParamsError;
import io.a2a.spec.ListTaskPushNotificationConfigParams;
import io.a2a.spec.Message;
import io.a2a.spec.Part;
import io.a2a.spec.PushNotificationConfig;
import io.a2a.spec.Task;
import io.a2a.spec.TaskIdParams;
import io.a2a.spec.TaskNotCancelableError;
import io.a2a.spec.TaskNotFoundError;
import io.a2a.spec.TaskPushNotificationConfig;
import io.a2a.spec.TaskQueryParams;
import io.a2a.spec.TaskState;
import io.a2a.spec.TaskStatusUpdateEvent;
import io.a2a.spec.TextPart;

/** Drives an agent with the Java SDK for A2A 0.3, and tells a line of JSON for each scenario. */
public final class Client03 {
    private static final String EXTENSION = variable("EXTENSION");
    private static final String BINDING = variable("BINDING");
    private static final String FILE = variable("FILE");
    private static final String PUSH_URL = "https://93.184.215.14/hook";

    /** A scenario; throws when it goes another way than it should. */
    private interface Scenario {
        void play() throws Exception;
    }

    /** What a stream or an answer told: its last task, and all updates of the status. */
    private record Told(Task task, List<TaskStatusUpdateEvent> updates) {}

    /** Sends the token with each call, and what activates the extension where it is asked for. */
    private static final class Headers extends ClientCallInterceptor {
        private final boolean extended;

        Headers(boolean extended) {
            this.extended = extended;
        }

        @Override
        public PayloadAndHeaders intercept(
                String method, Object payload, Map<String, String> headers, AgentCard card, ClientCallContext context) {
            Map<String, String> all = new HashMap<>(headers);
            all.put("Authorization", "Bearer " + variable("TOKEN"));
            if (extended) all.put("X-A2A-Extensions", EXTENSION);
            return new PayloadAndHeaders(payload, all);
        }
    }

    private AgentCard card;

    private static String variable(String name) {
        return Objects.requireNonNullElse(System.getenv("INTEROP_" + name), "");
    }

    private static void check(boolean holds, Object otherwise) {
        if (!holds) throw new AssertionError(otherwise);
    }

    private static Message message(List<Part<?>> parts, Task task) {
        Message.Builder said = new Message.Builder().role(Message.Role.USER).parts(parts).messageId(UUID.randomUUID().toString());
        return task == null ? said.build() : said.taskId(task.getId()).contextId(task.getContextId()).build();
    }

    private static Message text(String said, Task task) {
        return message(List.of(new TextPart(said)), task);
    }

    private static String textsIn(Task task) {
        StringBuilder all = new StringBuilder();
        for (Message said : task.getHistory()) {
            if (said.getRole() != Message.Role.AGENT) continue;
            for (Part<?> part : said.getParts()) if (part instanceof TextPart text) all.append(text.getText());
        }
        return all.toString();
    }

    private static List<Map<String, Object>> callsIn(List<TaskStatusUpdateEvent> updates) {
        List<Map<String, Object>> calls = new ArrayList<>();
        for (TaskStatusUpdateEvent update : updates) {
            Message said = update.getStatus().message();
            if (said == null) continue;
            for (Part<?> part : said.getParts()) {
                if (part instanceof DataPart data && data.getData().containsKey("tool_name")) calls.add(data.getData());
            }
        }
        return calls;
    }

    private Client client(boolean streaming, boolean extended) throws Exception {
        ClientConfig config = ClientConfig.builder().setStreaming(streaming).setAcceptedOutputModes(List.of()).build();
        var builder = Client.builder(card).clientConfig(config);
        // Of the card's interfaces the one is taken that there is a transport for.
        return BINDING.equals("JSONRPC")
                ? builder.withTransport(JSONRPCTransport.class, new JSONRPCTransportConfigBuilder().addInterceptor(new Headers(extended))).build()
                : builder.withTransport(RestTransport.class, new RestTransportConfigBuilder().addInterceptor(new Headers(extended))).build();
    }

    /** An event, or what went wrong; a stream that ends in good order says so by an error of null. */
    private record Item(ClientEvent event, Throwable error) {}

    private BlockingQueue<Item> send(Message said, boolean streaming, boolean extended) throws Exception {
        BlockingQueue<Item> items = new LinkedBlockingQueue<>();
        client(streaming, extended).sendMessage(
                said,
                List.of((event, agent) -> items.add(new Item(event, null))),
                error -> items.add(new Item(null, error)),
                null);
        return items;
    }

    /** Reads a stream to its end. */
    private static Told drained(BlockingQueue<Item> items) throws Exception {
        List<TaskStatusUpdateEvent> updates = new ArrayList<>();
        Task task = null;
        while (true) {
            Item item = items.poll(10, TimeUnit.SECONDS);
            check(item != null, "nothing came in 10 s");
            if (item.event() == null) {
                if (item.error() != null) throw new IllegalStateException(item.error());
                return new Told(task, updates);
            }
            task = taskIn(item.event());
            if (item.event() instanceof TaskUpdateEvent told && told.getUpdateEvent() instanceof TaskStatusUpdateEvent update) {
                updates.add(update);
                if (update.isFinal()) return new Told(task, updates);
            }
        }
    }

    private static Task taskIn(ClientEvent event) {
        if (event instanceof TaskUpdateEvent told) return told.getTask();
        if (event instanceof TaskEvent told) return told.getTask();
        throw new AssertionError("the answer is not a task: " + event);
    }

    private Task ask(Message said) throws Exception {
        return taskIn(send(said, false, false).poll(10, TimeUnit.SECONDS).event());
    }

    private Task read(Task task) throws Exception {
        return client(false, false).getTask(new TaskQueryParams(task.getId(), 100), null);
    }

    /** Starts a task that stays at work. */
    private Task start(String said) throws Exception {
        Item first = send(text(said, null), true, false).poll(10, TimeUnit.SECONDS);
        check(first != null && first.event() != null, "no task began: " + first);
        return taskIn(first.event());
    }

    private void findCard() throws Exception {
        card = A2A.getAgentCard(variable("URL"));
        check(card.capabilities().extensions().stream().anyMatch(one -> one.uri().equals(EXTENSION)), card.capabilities());
        check(card.capabilities().streaming(), "does not stream");
    }

    private void message() throws Exception {
        Task task = ask(text("text hello there", null));
        check(task.getStatus().state() == TaskState.COMPLETED, task.getStatus());
        check(textsIn(read(task)).equals("hello there"), textsIn(read(task)));
    }

    private void appendixA() throws Exception {
        Told asked = drained(send(text("think\nwrite " + FILE + " made\ntext Done.", null), true, true));
        List<Object> kinds = new ArrayList<>();
        for (TaskStatusUpdateEvent update : asked.updates()) {
            if (update.getMetadata() != null && update.getMetadata().get(EXTENSION) instanceof Map<?, ?> own) kinds.add(own.get("kind"));
        }
        check(kinds.contains("THOUGHT") && kinds.contains("TOOL_CALL_UPDATE"), kinds);
        TaskStatusUpdateEvent last = asked.updates().get(asked.updates().size() - 1);
        check(last.getStatus().state() == TaskState.INPUT_REQUIRED && last.isFinal(), last.getStatus());
        Map<String, Object> question = callsIn(asked.updates()).stream()
                .filter(call -> call.get("confirmation_request") != null).reduce((one, next) -> next).orElseThrow();
        Map<String, Object> answer = Map.of("tool_call_id", question.get("tool_call_id"), "selected_option_id", "proceed_once");
        Told done = drained(send(message(List.of(new DataPart(answer)), asked.task()), true, true));
        List<Map<String, Object>> calls = callsIn(done.updates());
        check("SUCCEEDED".equals(calls.get(calls.size() - 1).get("status")), calls);
        check(done.task().getStatus().state() == TaskState.COMPLETED, done.task().getStatus());
    }

    private void continued() throws Exception {
        Task first = ask(text("text one", null));
        Task again = ask(text("text two", first));
        check(again.getId().equals(first.getId()) && again.getStatus().state() == TaskState.COMPLETED, again.getStatus());
        Task asked = ask(text("write " + FILE + "-no nothing", null));
        check(asked.getStatus().state() == TaskState.INPUT_REQUIRED, asked.getStatus());
        Task declined = ask(text("no", asked));
        check(declined.getId().equals(asked.getId()) && declined.getStatus().state() == TaskState.COMPLETED, declined.getStatus());
    }

    private void cancel() throws Exception {
        Task task = start("wait 60000");
        Task canceled = client(false, false).cancelTask(new TaskIdParams(task.getId()), null);
        check(canceled.getStatus().state() == TaskState.CANCELED, canceled.getStatus());
        check(read(task).getStatus().state() == TaskState.CANCELED, read(task).getStatus());
    }

    private void resume() throws Exception {
        Task task = start("wait 2000\ntext late");
        BlockingQueue<Item> items = new LinkedBlockingQueue<>();
        client(true, false).resubscribe(
                new TaskIdParams(task.getId()),
                List.of((event, agent) -> items.add(new Item(event, null))),
                error -> items.add(new Item(null, error)),
                null);
        Told told = drained(items);
        check(told.task().getStatus().state() == TaskState.COMPLETED, told.task().getStatus());
        check(textsIn(read(task)).equals("late"), textsIn(read(task)));
    }

    private void errors() throws Exception {
        Client client = client(false, false);
        fails(() -> client.getTask(new TaskQueryParams(UUID.randomUUID().toString()), null), TaskNotFoundError.class);
        Task done = ask(text("text done", null));
        fails(() -> client.cancelTask(new TaskIdParams(done.getId()), null), TaskNotCancelableError.class);
        fails(() -> ask(text("text more", new Task.Builder(done).contextId("elsewhere").build())), InvalidParamsError.class);
    }

    private static void fails(Scenario call, Class<?> expected) {
        try {
            call.play();
        } catch (Exception error) {
            check(expected.isInstance(error.getCause()), expected.getSimpleName() + " is not the cause of " + error);
            return;
        }
        throw new AssertionError("no " + expected.getSimpleName());
    }

    private void extendedCard() throws Exception {
        AgentCard extended = client(false, false).getAgentCard(null);
        check(extended.skills().stream().anyMatch(skill -> skill.name().equals("/help")), extended.skills());
    }

    private void push() throws Exception {
        Client client = client(false, false);
        String id = ask(text("text done", null)).getId();
        PushNotificationConfig hook = new PushNotificationConfig.Builder().id("hook").url(PUSH_URL).token("t").build();
        TaskPushNotificationConfig stored =
                client.setTaskPushNotificationConfiguration(new TaskPushNotificationConfig(id, hook), null);
        check(stored.pushNotificationConfig().url().equals(PUSH_URL), stored);
        TaskPushNotificationConfig read =
                client.getTaskPushNotificationConfiguration(new GetTaskPushNotificationConfigParams(id, "hook"), null);
        check("[hidden]".equals(read.pushNotificationConfig().token()), read);
        ListTaskPushNotificationConfigParams all = new ListTaskPushNotificationConfigParams(id);
        check(client.listTaskPushNotificationConfigurations(all, null).size() == 1, "one config is not listed as one");
        client.deleteTaskPushNotificationConfigurations(new DeleteTaskPushNotificationConfigParams(id, "hook"), null);
        check(client.listTaskPushNotificationConfigurations(all, null).isEmpty(), "a config is left");
    }

    private static void tell(String scenario, Throwable failure) throws Exception {
        Map<String, Object> line = new HashMap<>(Map.of("scenario", scenario, "ok", failure == null));
        if (failure != null) {
            String reason = String.valueOf(failure);
            line.put("reason", reason.substring(0, Math.min(reason.length(), 400)));
        }
        System.out.println(new ObjectMapper().writeValueAsString(line));
    }

    private static Throwable failureOf(Scenario scenario) {
        CompletableFuture<Void> done = CompletableFuture.runAsync(() -> {
            try {
                scenario.play();
            } catch (Exception error) {
                throw new IllegalStateException(error.toString(), error);
            }
        });
        try {
            done.get(60, TimeUnit.SECONDS);
            return null;
        } catch (Exception error) {
            return Objects.requireNonNullElse(error.getCause(), error);
        }
    }

    public static void main(String[] names) throws Exception {
        Client03 player = new Client03();
        Throwable unread = failureOf(player::findCard);
        tell("card", unread);
        Map<String, Scenario> scenarios = Map.of(
                "message", player::message, "appendix_a", player::appendixA, "continued", player::continued,
                "cancel", player::cancel, "resume", player::resume, "errors", player::errors,
                "extended_card", player::extendedCard, "push", player::push);
        for (String name : names) {
            if (unread == null && scenarios.containsKey(name)) tell(name, failureOf(scenarios.get(name)));
        }
        System.exit(0);
    }
}
