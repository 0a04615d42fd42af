//! The account at the authority, which is kept before anything is ordered with it.

use crate::client::DirectoryClient;
use crate::order::{Failure, failure};
use crate::settings::AcmeSettings;
use crate::store;
use instant_acme::{Account, AccountBuilder, AccountCredentials, ExternalAccountKey, NewAccount};
use serde::{Deserialize, Serialize};

/// An account as its file has it.
#[derive(Serialize, Deserialize)]
struct KeptAccount {
    email: Option<String>,
    external_account: Option<String>,
    credentials: AccountCredentials,
}

/// Opens the account of these settings; makes it if there is none.
pub(crate) async fn open(
    settings: &AcmeSettings,
    client: &DirectoryClient,
) -> Result<Account, Failure> {
    let builder = || -> AccountBuilder { Account::builder_with_http(Box::new(client.clone())) };
    let external = settings.external_account.as_ref();
    let external_id = external.map(|account| account.id.clone());
    // A new account would replace one that cannot be read, and its key may be good for one account only.
    let text = store::read(&settings.account_file())?.unwrap_or_default();
    let kept = serde_json::from_slice::<KeptAccount>(&text).ok();
    // Another binding needs another account.
    let kept = kept.filter(|kept| kept.external_account == external_id);
    let contact = settings
        .email
        .as_ref()
        .map(|email| format!("mailto:{email}"));
    let contact: Vec<&str> = contact.iter().map(String::as_str).collect();
    if let Some(kept) = kept {
        // Read once more, since opening it takes them.
        let credentials = serde_json::from_slice::<KeptAccount>(&text);
        let account = builder().from_credentials(kept.credentials).await;
        let account = account.map_err(failure)?;
        if kept.email != settings.email {
            account.update_contacts(&contact).await.map_err(failure)?;
            if let Ok(KeptAccount { credentials, .. }) = credentials {
                keep(settings, credentials)?;
            }
        }
        return Ok(account);
    }
    let wanted = NewAccount {
        contact: &contact,
        terms_of_service_agreed: true,
        only_return_existing: false,
    };
    let key = external.map(|account| ExternalAccountKey::new(account.id.clone(), &account.key));
    let directory = settings.directory.clone();
    let made = builder().create(&wanted, directory, key.as_ref()).await;
    let (account, credentials) = made.map_err(failure)?;
    keep(settings, credentials)?;
    Ok(account)
}

fn keep(settings: &AcmeSettings, credentials: AccountCredentials) -> Result<(), Failure> {
    let external = settings.external_account.as_ref();
    let kept = KeptAccount {
        email: settings.email.clone(),
        external_account: external.map(|account| account.id.clone()),
        credentials,
    };
    let text = serde_json::to_vec_pretty(&kept).map_err(|error| error.to_string())?;
    Ok(store::put(&settings.account_file(), &text)?)
}

/// Forgets an account that its authority does not know any more. The next attempt makes another.
pub(crate) fn forget(settings: &AcmeSettings) {
    store::remove(&settings.account_file());
}
