package example;

import com.devtool.a2a.v1alpha.AgentSettings;
import com.devtool.a2a.v1alpha.DevelopmentToolEvent;
import com.devtool.a2a.v1alpha.GetAllSlashCommandsResponse;
import com.devtool.a2a.v1alpha.ToolCall;
import com.devtool.a2a.v1alpha.ToolCallConfirmation;
import com.devtool.conformance.v1alpha.ProgramRequest;
import com.devtool.conformance.v1alpha.ProgramResponse;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.util.JsonFormat;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/** The program under test: see docs/test-kits.md. */
public final class Program {
  private static final Map<String, Descriptor> TYPES = List.of(
          AgentSettings.getDescriptor(),
          DevelopmentToolEvent.getDescriptor(),
          GetAllSlashCommandsResponse.getDescriptor(),
          ToolCall.getDescriptor(),
          ToolCallConfirmation.getDescriptor())
      .stream()
      .flatMap(type -> type.getFile().getMessageTypes().stream())
      .collect(Collectors.toMap(Descriptor::getFullName, Function.identity()));

  public static void main(String[] args) throws IOException {
    for (ProgramRequest request; (request = ProgramRequest.parseDelimitedFrom(System.in)) != null; ) {
      answer(request).writeDelimitedTo(System.out);
      System.out.flush();
    }
  }

  private static ProgramResponse answer(ProgramRequest request) {
    var response = ProgramResponse.newBuilder();
    try {
      switch (request.getWorkCase()) {
        case READ_JSON -> {
          var message = DynamicMessage.newBuilder(named(request.getReadJson().getType()));
          JsonFormat.parser().ignoringUnknownFields().merge(request.getReadJson().getJson(), message);
          response.setBinary(message.build().toByteString());
        }
        case READ_BINARY -> {
          var type = named(request.getReadBinary().getType());
          var message = DynamicMessage.parseFrom(type, request.getReadBinary().getBinary());
          response.setJson(JsonFormat.printer().print(message));
        }
        case CONVERSE -> response.setConversation(Conversations.converse(request.getConverse(), 1));
        case RESUME -> response.setConversation(Conversations.converse(request.getResume(), 5));
        default -> response.setUnsupported("a kind of work that this program does not know");
      }
    } catch (IOException | RuntimeException reason) {
      response.setRefused(reason.toString());
    }
    return response.build();
  }

  private static Descriptor named(String type) {
    var found = TYPES.get(type);
    if (found == null) throw new IllegalArgumentException("type \"" + type + "\" is not known");
    return found;
  }
}
