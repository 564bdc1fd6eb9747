//! Search by name: the results page, and the list for the palette.

use super::*;

#[tokio::test]
async fn a_search_shows_names_as_text_and_where_they_are() {
    let farm = Farm::new().await;
    let session = farm.administrator().await;
    let library = repository::Target::path("Documents").unwrap();
    let evil = "<img src=x onerror=alert(1)> plan";
    let folder = session.create_folder(&library, &model::Name::new(evil).unwrap()).await.unwrap();
    session.create_folder(&repository::Target::Id(folder.id), &model::Name::new("Plan B").unwrap()).await.unwrap();
    let browser = farm.signed_in("admin").await;
    let page = browser.get("/search?q=PLAN").await.expect(200);
    assert!(page.text.contains("<mark>Plan</mark> B"), "{}", page.text);
    assert!(!page.text.contains("<img src=x"), "{}", page.text);
    assert!(page.text.contains("Documents / &#60;img"), "{}", page.text);
    assert!(page.text.contains("value=\"PLAN\""), "{}", page.text);
    let part = browser.get("/search?part=yes&q=plan").await.expect(200);
    assert_eq!(part.text.matches("<li>").count(), 2);
    assert!(!part.text.contains("<img src=x"));
    assert!(!part.text.contains("<header"));
    for (query, says) in
        [("", "What are you looking for?"), ("%20", "What are you looking for?"), ("zzz", "Nothing found")]
    {
        assert!(browser.get(&format!("/search?q={query}")).await.expect(200).text.contains(says), "{query:?}");
    }
    for odd in ["%22%3E%3Cscript%3Ealert(1)%3C/script%3E", "%00", "%27%25_%5C", &"x".repeat(5_000), "%E2%80%AE"] {
        let shown = browser.get(&format!("/search?q={odd}")).await.expect(200);
        assert!(!shown.text.contains("<script>"), "{odd}");
    }
}

#[tokio::test]
async fn more_results_are_a_link_away() {
    let farm = Farm::new().await;
    let session = farm.administrator().await;
    for number in 0..60 {
        let path = model::NodePath::parse(&format!("Documents/plan {number}.txt")).unwrap();
        let to = repository::Destination::Path(path);
        session.upload_bytes(&to, repository::UploadOptions::default(), "x".into()).await.unwrap();
    }
    let browser = farm.signed_in("admin").await;
    let further = "href=\"/search?q=plan&#38;show=100#result-51\"";
    for (address, rows, has_more) in [
        ("/search?q=plan", 50, true),
        ("/search?q=plan&show=100", 60, false),
        ("/search?q=plan&show=7", 50, true),
        ("/search?q=plan&show=99999999999999999999", 50, true),
    ] {
        let page = browser.get(address).await.expect(200);
        assert_eq!(page.text.matches("<tr id=\"result-").count(), rows, "{address}");
        assert_eq!(page.text.contains(further), has_more, "{address}: {}", page.text);
    }
}

#[tokio::test]
async fn a_search_needs_somebody_who_is_signed_in() {
    let farm = Farm::new().await;
    let away = farm.browser().get("/search?q=plan").await.expect(303);
    assert_eq!(away.header(header::LOCATION), "/sign-in?next=%2Fsearch%3Fq%3Dplan");
    assert!(!farm.browser().get("/sign-in").await.expect(200).text.contains("role=\"search\""));
}

#[tokio::test]
async fn places_offer_a_search_in_them_if_their_path_can_be_a_filter() {
    let farm = Farm::new().await;
    let session = farm.administrator().await;
    let library = repository::Target::path("Documents").unwrap();
    for name in ["Birds of prey", "Say \"no\""] {
        session.create_folder(&library, &model::Name::new(name).unwrap()).await.unwrap();
    }
    let browser = farm.signed_in("admin").await;
    let page = browser.get("/browse/Documents/Birds%20of%20prey").await.expect(200);
    assert!(page.text.contains("data-filter=\"in:&#34;Documents/Birds of prey&#34;\""), "{}", page.text);
    assert!(page.text.contains("href=\"/search?q=in:%22Documents%2FBirds%20of%20prey%22\""), "{}", page.text);
    for none in ["/browse/Documents/Say%20%22no%22", "/browse", "/"] {
        assert!(!browser.get(none).await.expect(200).text.contains("data-filter"), "{none}");
    }
}

#[tokio::test]
async fn a_pointer_that_rests_on_a_result_reads_nothing_where_reads_are_recorded() {
    let farm = Farm::new().await;
    let session = farm.administrator().await;
    let path = model::NodePath::parse("Documents/a.txt").unwrap();
    let to = repository::Destination::Path(path);
    let id = session.upload_bytes(&to, repository::UploadOptions::default(), "an egret".into()).await.unwrap().id;
    let browser = farm.signed_in("admin").await;
    let shows = async |address: &str| browser.get(address).await.expect(200).text.contains("an egret");
    let (opened, hovered) = (format!("/items/{id}?q=zzz"), format!("/items/{id}?q=zzz&hover=yes"));
    assert!(shows(&opened).await && shows(&hovered).await);
    let site = session.item(&repository::Target::path("").unwrap()).await.unwrap().collection_id;
    session.set_audit_reads(site, true).await.unwrap();
    let reads = async || {
        let filter = repository::AuditFilter { actor: None, action: Some("document.read".to_owned()) };
        session.audit_log(site, filter, None, 100).await.unwrap().items.len()
    };
    for hovered in [hovered, format!("/items/{id}?hover=yes")] {
        assert!(!shows(&hovered).await, "{hovered}");
    }
    assert_eq!(reads().await, 0);
    assert!(shows(&opened).await);
    assert_eq!(reads().await, 1);
}
