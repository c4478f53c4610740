package example;

import io.grpc.CallCredentials;
import io.grpc.Metadata;
import java.util.concurrent.Executor;

/** Sends a bearer token with every call. */
final class BearerToken extends CallCredentials {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
  private final Metadata headers = new Metadata();

  BearerToken(String token) {
    headers.put(AUTHORIZATION, "Bearer " + token);
  }

  @Override
  public void applyRequestMetadata(RequestInfo request, Executor executor, MetadataApplier applier) {
    applier.apply(headers);
  }
}
