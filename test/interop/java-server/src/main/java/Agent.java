import java.io.File;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.UUID;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.a2a.server.PublicAgentCard;
import io.a2a.server.agentexecution.AgentExecutor;
import io.a2a.server.agentexecution.RequestContext;
import io.a2a.server.events.EventQueue;
import io.a2a.spec.AgentCapabilities;
import io.a2a.spec.AgentCard;
import io.a2a.spec.AgentExtension;
import io.a2a.spec.AgentInterface;
import io.a2a.spec.Artifact;
import io.a2a.spec.DataPart;
import io.a2a.spec.Message;
import io.a2a.spec.Part;
import io.a2a.spec.Task;
import io.a2a.spec.TaskArtifactUpdateEvent;
import io.a2a.spec.TaskState;
import io.a2a.spec.TaskStatus;
import io.a2a.spec.TaskStatusUpdateEvent;
import io.a2a.spec.TextPart;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.inject.Produces;

/** Plays what the interop tests ask for; every server of theirs plays the same. */
@ApplicationScoped
public class Agent {
    private static final String EXTENSION = System.getenv("INTEROP_EXTENSION");
    /** What the card claims: capabilities, and the extension. */
    private static final List<String> CLAIMS =
            List.of(System.getenv().getOrDefault("INTEROP_CLAIMS", "streaming push extension").split(" "));

    /** One step of what the agent does. */
    @JsonIgnoreProperties(ignoreUnknown = true)
    public record Step(String state, String kind, String text, Map<String, Object> data, String message, String artifact, int waitMs, boolean hold) {}

    @Produces
    @PublicAgentCard
    AgentCard card() {
        AgentExtension extension = new AgentExtension.Builder().uri(EXTENSION).build();
        return new AgentCard.Builder()
                .name("interop")
                .description("Plays what the interop tests ask for.")
                .version("1.0.0")
                .protocolVersion("0.3.0")
                .url(Server03.URL + "/")
                .preferredTransport("JSONRPC")
                .additionalInterfaces(List.of(new AgentInterface("JSONRPC", Server03.URL + "/"), new AgentInterface("HTTP+JSON", Server03.URL)))
                .capabilities(new AgentCapabilities.Builder()
                        .streaming(CLAIMS.contains("streaming"))
                        .pushNotifications(CLAIMS.contains("push"))
                        .extensions(CLAIMS.contains("extension") ? List.of(extension) : List.of())
                        .build())
                .defaultInputModes(List.of("text/plain"))
                .defaultOutputModes(List.of("text/plain"))
                .skills(List.of())
                .build();
    }

    @Produces
    AgentExecutor executor() throws IOException {
        return new Player(new ObjectMapper().readValue(new File(System.getenv("INTEROP_SCRIPT")), new TypeReference<>() {}));
    }

    private record Player(Map<String, List<Step>> scripts) implements AgentExecutor {
        @Override
        public void execute(RequestContext context, EventQueue queue) {
            Message said = context.getMessage();
            String script = said.getParts().get(0) instanceof TextPart text ? text.getText() : "answer";
            List<Step> steps = scripts.get(script);
            if (steps.get(0).message() != null) {
                queue.enqueueEvent(new Message.Builder().role(Message.Role.AGENT).messageId(UUID.randomUUID().toString())
                        .contextId(context.getContextId()).parts(new TextPart(steps.get(0).message())).build());
                return;
            }
            if (context.getTask() == null) {
                TaskStatus submitted = new TaskStatus(TaskState.SUBMITTED);
                queue.enqueueEvent(new Task(context.getTaskId(), context.getContextId(), submitted, List.of(), List.of(said), Map.of()));
            }
            for (Step step : steps) {
                if (step.hold() || step.waitMs() > 0) sleep(step.hold() ? 3_600_000 : step.waitMs());
                else if (step.artifact() != null) queue.enqueueEvent(artifact(context, step));
                else queue.enqueueEvent(update(context, step));
            }
        }

        @Override
        public void cancel(RequestContext context, EventQueue queue) {
            queue.enqueueEvent(status(context, new TaskStatus(TaskState.CANCELED), Map.of()));
        }

        private static TaskArtifactUpdateEvent artifact(RequestContext context, Step step) {
            Artifact made = new Artifact.Builder().artifactId(UUID.randomUUID().toString()).parts(new TextPart(step.artifact())).build();
            return new TaskArtifactUpdateEvent.Builder()
                    .taskId(context.getTaskId()).contextId(context.getContextId()).artifact(made).lastChunk(true).build();
        }

        private static TaskStatusUpdateEvent update(RequestContext context, Step step) {
            Part<?> part = step.text() != null ? new TextPart(step.text()) : step.data() != null ? new DataPart(step.data()) : null;
            Message said = part == null ? null : new Message.Builder()
                    .role(Message.Role.AGENT).messageId(UUID.randomUUID().toString()).parts(part).build();
            Map<String, Object> metadata = step.kind() == null
                    ? Map.of() : Map.of(EXTENSION, Map.of("kind", step.kind(), "model", "interop"));
            return status(context, new TaskStatus(TaskState.fromString(step.state()), said, null), metadata);
        }

        private static TaskStatusUpdateEvent status(RequestContext context, TaskStatus status, Map<String, Object> metadata) {
            boolean isFinal = status.state().isFinal() || status.state() == TaskState.INPUT_REQUIRED;
            return new TaskStatusUpdateEvent(context.getTaskId(), status, context.getContextId(), isFinal, metadata);
        }

        private static void sleep(int ms) {
            try {
                Thread.sleep(ms);
            } catch (InterruptedException canceled) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
