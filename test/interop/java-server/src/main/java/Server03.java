import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;

import io.quarkus.runtime.Quarkus;
import io.quarkus.runtime.QuarkusApplication;
import io.quarkus.runtime.annotations.QuarkusMain;

/** An agent on the Java SDK for A2A 0.3, over JSON-RPC and HTTP+JSON, in the SDK's reference server. */
@QuarkusMain
public class Server03 implements QuarkusApplication {
    /** Where the agent is; its card must say so before it listens. */
    static final String URL = freeUrl();

    public static void main(String[] args) {
        System.setProperty("quarkus.http.port", URL.substring(URL.lastIndexOf(':') + 1));
        Quarkus.run(Server03.class, args);
    }

    @Override
    public int run(String... args) throws IOException {
        System.out.println(URL);
        System.in.readAllBytes();
        return 0;
    }

    private static String freeUrl() {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return "http://127.0.0.1:" + socket.getLocalPort();
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }
}
