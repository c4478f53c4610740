import {
  create,
  createRegistry,
  type DescFile,
  type DescService,
  type MessageInitShape,
  type Registry,
  toBinary,
} from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { ConnectRouter } from "@connectrpc/connect";
import { ErrorInfoSchema } from "@devtool/schema/a2a-v1";
import {
  ServerReflection,
  type ServerReflectionRequest,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from "@devtool/schema/reflection";
import { Code } from "../../errors.ts";

type MessageResponse = NonNullable<
  MessageInitShape<typeof ServerReflectionResponseSchema>["messageResponse"]
>;

/**
 * Serves reflection of a router's services, under the name of the standard and
 * under its older name, which tools still use.
 */
export function registerReflection(router: ConnectRouter): void {
  const services = new Set(router.handlers.map(({ service }) => service));
  const reflection = new Reflection([...services, ServerReflection]);
  const serverReflectionInfo = async function* (
    requests: AsyncIterable<ServerReflectionRequest>,
  ) {
    for await (const request of requests) yield reflection.answer(request);
  };
  router.service(ServerReflection, { serverReflectionInfo });
  router.service(
    {
      ...ServerReflection,
      typeName: "grpc.reflection.v1alpha.ServerReflection",
    },
    { serverReflectionInfo },
  );
}

/** Answers reflection requests from the descriptors of services. */
class Reflection {
  readonly #services: readonly DescService[];
  /** The files of the services and their imports, by name. */
  readonly #files: ReadonlyMap<string, DescFile>;
  readonly #registry: Registry;

  constructor(services: readonly DescService[]) {
    this.#services = services;
    // Details of errors are in no service.
    const files = [...services, ErrorInfoSchema].flatMap(({ file }) =>
      withImports(file),
    );
    this.#files = new Map(files.map((file) => [`${file.name}.proto`, file]));
    this.#registry = createRegistry(...this.#files.values());
  }

  answer(request: ServerReflectionRequest): ServerReflectionResponse {
    return create(ServerReflectionResponseSchema, {
      validHost: request.host,
      originalRequest: request,
      messageResponse: this.#response(request.messageRequest),
    });
  }

  #response(
    question: ServerReflectionRequest["messageRequest"],
  ): MessageResponse {
    switch (question.case) {
      case "listServices": {
        const service = this.#services.map(({ typeName }) => ({
          name: typeName,
        }));
        return { case: "listServicesResponse", value: { service } };
      }
      case "fileByFilename":
        return descriptorsOf(this.#files.get(question.value), question.value);
      case "fileContainingSymbol": {
        const symbol = question.value;
        // A symbol may also be a method: then its service is what the registry
        // knows.
        const type =
          this.#registry.get(symbol) ??
          this.#registry.getService(symbol.slice(0, symbol.lastIndexOf(".")));
        return descriptorsOf(type?.file, symbol);
      }
      default:
        return notFound("extensions are not used here");
    }
  }
}

function withImports(file: DescFile): DescFile[] {
  return [file, ...file.dependencies.flatMap(withImports)];
}

/**
 * Returns a file and its imports. `name` is the file or symbol that was asked
 * for.
 */
function descriptorsOf(
  file: DescFile | undefined,
  name: string,
): MessageResponse {
  if (!file) return notFound(`${JSON.stringify(name)} is not declared here`);
  const files = new Set(withImports(file));
  const fileDescriptorProto = [...files].map(({ proto }) =>
    toBinary(FileDescriptorProtoSchema, proto),
  );
  return { case: "fileDescriptorResponse", value: { fileDescriptorProto } };
}

function notFound(errorMessage: string): MessageResponse {
  return {
    case: "errorResponse",
    value: { errorCode: Code.NotFound, errorMessage },
  };
}
