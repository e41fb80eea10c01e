import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.Proxy;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** Asks for a URL in every way that Java has, and prints what came back, a line for each way. */
class Client {
    interface Way {
        String ask(String url, String token) throws Exception;
    }

    public static void main(String[] urls) {
        String token = System.getenv("ACME_API_KEY");
        for (String url : urls) {
            said("connection", connection(null), url, token);
            said("connection, no proxy", connection(Proxy.NO_PROXY), url, token);
            said("client", client(HttpClient.newHttpClient()), url, token);
            said("client, no proxy", client(HttpClient.newBuilder().proxy(HttpClient.Builder.NO_PROXY).build()), url, token);
        }
        // A client's threads would outlive it for a while.
        System.exit(0);
    }

    static void said(String name, Way way, String url, String token) {
        String answer;
        try {
            answer = way.ask(url, token);
        } catch (Exception error) {
            answer = "refused";
        }
        System.out.println(name + ": " + answer);
    }

    static Way connection(Proxy proxy) {
        return (url, token) -> {
            URI uri = URI.create(url);
            var opened = proxy == null ? uri.toURL().openConnection() : uri.toURL().openConnection(proxy);
            HttpURLConnection connection = (HttpURLConnection) opened;
            connection.setRequestProperty("Authorization", "Bearer " + token);
            try (InputStream body = connection.getInputStream()) {
                return new String(body.readAllBytes());
            }
        };
    }

    static Way client(HttpClient client) {
        return (url, token) -> {
            HttpRequest request = HttpRequest.newBuilder(URI.create(url)).header("Authorization", "Bearer " + token).build();
            HttpResponse<String> response = client.send(request, HttpResponse.BodyHandlers.ofString());
            if (response.statusCode() != 200) {
                throw new IOException();
            }
            return response.body();
        };
    }
}
