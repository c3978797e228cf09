// What oapi-codegen makes of the document: create, read, change, search, and the tenant.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"clients/vault"
)

func client(url, key string) *vault.ClientWithResponses {
	made, err := vault.NewClientWithResponses(url, vault.WithRequestEditorFn(
		func(_ context.Context, request *http.Request) error {
			request.Header.Set("SVC-API-KEY", key)
			return nil
		}))
	must(err)
	return made
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func check(good bool, what any) {
	if !good {
		panic(fmt.Sprint(what))
	}
}

func main() {
	ctx := context.Background()
	url := os.Args[1]
	general, private, management := client(url, os.Args[2]), client(url, os.Args[3]), client(url, os.Args[4])

	body := vault.CreateToken{Type: "card", Metadata: &map[string]string{"customer": "go"}}
	month := vault.CardData_ExpirationMonth{}
	must(month.FromCardDataExpirationMonth0(12))
	must(body.Data.FromCardData(vault.CardData{Number: "4242424242424242", ExpirationMonth: &month}))
	made, err := general.CreateTokenWithResponse(ctx, nil, body)
	must(err)
	check(made.JSON201 != nil, string(made.Body))
	id := made.JSON201.Id

	read, err := private.GetTokenWithResponse(ctx, id, nil)
	must(err)
	check(read.JSON200 != nil, string(read.Body))
	check(read.JSON200.Data.(map[string]any)["number"] == "4242424242424242", string(read.Body))

	yes := "yes"
	patch := vault.UpdateToken{Metadata: &map[string]*string{"checked": &yes}}
	changed, err := general.UpdateTokenWithApplicationMergePatchPlusJSONBodyWithResponse(ctx, id, nil, patch)
	must(err)
	check(changed.JSON200 != nil && (*changed.JSON200.Metadata)["checked"] == "yes", string(changed.Body))

	found, err := private.SearchTokensByCursorWithResponse(ctx, nil, vault.SearchTokensByCursor{Query: "metadata.customer:go"})
	must(err)
	check(found.JSON200 != nil && len(found.JSON200.Data) == 1 && found.JSON200.Data[0].Id == id, string(found.Body))

	tenant, err := management.GetTenantWithResponse(ctx, nil)
	must(err)
	check(tenant.JSON200 != nil, string(tenant.Body))
	renamed, err := management.UpdateTenantWithResponse(ctx, nil, vault.UpdateTenant{Name: tenant.JSON200.Name})
	must(err)
	check(renamed.JSON200 != nil && renamed.JSON200.Id == tenant.JSON200.Id, string(renamed.Body))
	fmt.Println("good")
}
