// Asks for a URL with and without the proxy that the variables name, and prints what came back, a line for each.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	token := os.Getenv("ACME_API_KEY")
	direct := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true}}
	for _, url := range os.Args[1:] {
		said("client", http.DefaultClient, url, token)
		said("client, no proxy", direct, url, token)
	}
}

func said(name string, client *http.Client, url, token string) {
	answer, err := ask(client, url, token)
	if err != nil {
		answer = "refused"
	}
	fmt.Printf("%s: %s\n", name, answer)
}

func ask(client *http.Client, url, token string) (string, error) {
	request, err := http.NewRequest("GET", url, nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode != 200 {
		return "", fmt.Errorf("status %d", response.StatusCode)
	}
	body, err := io.ReadAll(response.Body)
	return string(body), err
}
