// The gRPC reflection service, for servers that offer it.
export {
  ServerReflection,
  type ServerReflectionRequest,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from "./gen/grpc/reflection/v1/reflection_pb.ts";
