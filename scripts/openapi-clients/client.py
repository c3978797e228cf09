"""What openapi-python-client makes of the document: create, read, change, search, and the tenant."""

import sys

from strongroom_client import AuthenticatedClient
from strongroom_client.api.tenant import get_tenant, update_tenant
from strongroom_client.api.tokens import create_token, get_token, search_tokens_by_cursor, update_token
from strongroom_client.models import (
    CardData,
    CreateToken,
    CreateTokenMetadataType0,
    CreateTokenType,
    SearchTokensByCursor,
    UpdateTenant,
    UpdateToken,
    UpdateTokenMetadataType0,
)

url, general, private, management = sys.argv[1:]


def client(key):
    return AuthenticatedClient(base_url=url, token=key, prefix="", auth_header_name="SVC-API-KEY", raise_on_unexpected_status=True)


card = CreateToken(
    type_=CreateTokenType.CARD,
    data=CardData(number="4242424242424242", expiration_month=12, expiration_year=2030),
    metadata=CreateTokenMetadataType0.from_dict({"customer": "python"}),
)
made = create_token.sync(client=client(general), body=card)
read = get_token.sync(made.id, client=client(private))
assert read.data["number"] == "4242424242424242", read
patch = UpdateToken(metadata=UpdateTokenMetadataType0.from_dict({"checked": "yes"}))
changed = update_token.sync(made.id, client=client(general), body=patch)
assert changed.metadata["checked"] == "yes", changed
query = SearchTokensByCursor(query="metadata.customer:python")
found = search_tokens_by_cursor.sync(client=client(private), body=query)
assert [token.id for token in found.data] == [made.id], found
tenant = get_tenant.sync(client=client(management))
renamed = update_tenant.sync(client=client(management), body=UpdateTenant(name=tenant.name))
assert renamed.id == tenant.id, renamed
print("good")
