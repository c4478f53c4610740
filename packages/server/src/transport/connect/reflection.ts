import { create, createRegistry, type DescFile, type DescService, type Registry, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { ConnectRouter } from "@connectrpc/connect";
import {
  ServerReflection,
  type ServerReflectionRequest,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from "@devtool/schema/reflection";
import { Code } from "../../errors.ts";

/** Serves the reflection of services, under the name of the standard and under its older one, which tools still ask for. */
export function registerReflection(router: ConnectRouter, services: readonly DescService[]): void {
  const reflection = new Reflection([...services, ServerReflection]);
  const answerAll = async function* (requests: AsyncIterable<ServerReflectionRequest>) {
    for await (const request of requests) yield reflection.answer(request);
  };
  router.service(ServerReflection, { serverReflectionInfo: answerAll });
  router.service(
    { ...ServerReflection, typeName: "grpc.reflection.v1alpha.ServerReflection" },
    { serverReflectionInfo: answerAll },
  );
}

class Reflection {
  readonly #services: readonly DescService[];
  readonly #files: ReadonlyMap<string, DescFile>;
  readonly #registry: Registry;

  constructor(services: readonly DescService[]) {
    this.#services = services;
    this.#files = new Map(
      services.flatMap(({ file }) => withImports(file)).map((file) => [`${file.name}.proto`, file]),
    );
    this.#registry = createRegistry(...this.#files.values());
  }

  answer(request: ServerReflectionRequest): ServerReflectionResponse {
    return create(ServerReflectionResponseSchema, {
      validHost: request.host,
      originalRequest: request,
      messageResponse: this.#response(request.messageRequest),
    });
  }

  #response(question: ServerReflectionRequest["messageRequest"]): ServerReflectionResponse["messageResponse"] {
    switch (question.case) {
      case "listServices":
        return listing(this.#services);
      case "fileByFilename":
        return filesOf(this.#files.get(question.value), question.value);
      case "fileContainingSymbol":
        return filesOf(this.#declaring(question.value), question.value);
      default:
        return notFound("extensions are not used here");
    }
  }

  /** The file that declares a type, or the method of a service. */
  #declaring(symbol: string): DescFile | undefined {
    const type = this.#registry.get(symbol) ?? this.#registry.getService(symbol.slice(0, symbol.lastIndexOf(".")));
    return type?.file;
  }
}

function withImports(file: DescFile): DescFile[] {
  return [file, ...file.dependencies.flatMap(withImports)];
}

function listing(services: readonly DescService[]): ServerReflectionResponse["messageResponse"] {
  const service = services.map(({ typeName }) => ({
    $typeName: "grpc.reflection.v1.ServiceResponse" as const,
    name: typeName,
  }));
  return { case: "listServicesResponse", value: { $typeName: "grpc.reflection.v1.ListServiceResponse", service } };
}

function filesOf(file: DescFile | undefined, asked: string): ServerReflectionResponse["messageResponse"] {
  if (!file) return notFound(`${JSON.stringify(asked)} is not declared here`);
  const fileDescriptorProto = [...new Set(withImports(file))].map(({ proto }) =>
    toBinary(FileDescriptorProtoSchema, proto),
  );
  return {
    case: "fileDescriptorResponse",
    value: { $typeName: "grpc.reflection.v1.FileDescriptorResponse", fileDescriptorProto },
  };
}

function notFound(errorMessage: string): ServerReflectionResponse["messageResponse"] {
  const value = { $typeName: "grpc.reflection.v1.ErrorResponse" as const, errorCode: Code.NotFound, errorMessage };
  return { case: "errorResponse", value };
}
